//! What a hub is asked on each connection, until it has answered.

use std::collections::VecDeque;

use super::{Command, Link};

/// Questions that are not answered yet.
#[derive(Default)]
pub(crate) struct Questions {
    /// To be asked as soon as there is room.
    due: VecDeque<Command>,
    /// The hub did not answer these: they are asked again after a while.
    unanswered: Vec<Command>,
}

impl Questions {
    /// A connection stands: these are asked first, and what was added while there was none.
    pub(crate) fn begin(&mut self, questions: impl IntoIterator<Item = Command>) {
        self.unanswered.clear();
        let added = core::mem::replace(&mut self.due, questions.into_iter().collect());
        added.into_iter().for_each(|question| self.add(question));
    }

    /// One more.
    pub(crate) fn add(&mut self, question: Command) {
        if !self.due.contains(&question) {
            self.due.push_back(question);
        }
    }

    /// Asks as many as there is room for.
    pub(crate) fn ask(&mut self, link: &Link) {
        while let Some(question) = self.due.pop_front() {
            if let Err(back) = link.ask(question) {
                return self.due.push_front(back);
            }
        }
    }

    /// The hub did not answer this one.
    pub(crate) fn unanswered(&mut self, question: Command) {
        if !self.unanswered.contains(&question) {
            self.unanswered.push(question);
        }
    }

    /// It is time to ask again what was not answered.
    pub(crate) fn again(&mut self) {
        core::mem::take(&mut self.unanswered).into_iter().for_each(|question| self.add(question));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_waits_for_room_and_is_asked_again_until_it_is_answered() {
        let (link, mut asked, _events) = Link::of_a_test(1);
        let question = |number: u8| Command::Last(number.to_string());
        let mut questions = Questions::default();
        questions.begin([question(1), question(2)]);
        questions.ask(&link);
        assert_eq!(asked.try_recv(), Ok(question(1)));
        questions.unanswered(question(1));
        questions.ask(&link);
        assert_eq!(asked.try_recv(), Ok(question(2)));
        questions.ask(&link);
        assert!(asked.try_recv().is_err(), "not before it is time");
        questions.again();
        questions.ask(&link);
        assert_eq!(asked.try_recv(), Ok(question(1)));
    }
}
