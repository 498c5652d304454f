//! What a hub is asked on each connection, until it has answered.

use std::collections::VecDeque;

use super::{Command, Link};

/// Questions that are not answered yet.
#[derive(Default)]
pub(crate) struct Questions {
    /// To be asked as soon as there is room.
    due: VecDeque<Command>,
    /// Histories that the hub is telling.
    asked: Vec<Command>,
    /// The hub did not answer these: they are asked again after a while.
    unanswered: Vec<Command>,
}

impl Questions {
    /// A connection stands: these are asked first, and then what was open on the connection before.
    pub(crate) fn begin(&mut self, questions: impl IntoIterator<Item = Command>) {
        self.unanswered.clear();
        let open = core::mem::replace(&mut self.due, questions.into_iter().collect());
        let asked = core::mem::take(&mut self.asked);
        asked.into_iter().chain(open).for_each(|question| self.add(question));
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
            let history = matches!(question, Command::History(..)).then(|| question.clone());
            if let Err(back) = link.ask(question) {
                return self.due.push_front(back);
            }
            self.asked.extend(history);
        }
    }

    /// The hub has told all of this history.
    pub(crate) fn answered(&mut self, question: &Command) {
        self.asked.retain(|asked| asked != question);
    }

    /// Whether the hub has told every history that it was asked for.
    pub(crate) fn are_answered(&self) -> bool {
        self.due.is_empty() && self.asked.is_empty() && self.unanswered.is_empty()
    }

    /// The hub did not answer this one.
    pub(crate) fn unanswered(&mut self, question: Command) {
        self.answered(&question);
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
    use super::super::Since;
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

    #[test]
    fn a_history_is_open_until_all_of_it_has_come_also_on_the_next_connection() {
        let (link, mut asked, _events) = Link::of_a_test(8);
        let history = |subject: &str| Command::History(vec![subject.to_owned()], Since::Beginning);
        let mut questions = Questions::default();
        questions.begin([history("words"), history("blocks")]);
        assert!(!questions.are_answered());
        questions.ask(&link);
        questions.answered(&history("words"));
        assert!(!questions.are_answered());
        questions.unanswered(history("blocks"));
        assert!(!questions.are_answered(), "it is to be asked again");
        questions.again();
        questions.ask(&link);
        questions.begin([history("words")]);
        questions.ask(&link);
        questions.answered(&history("words"));
        assert!(!questions.are_answered(), "the connection broke before it was told");
        questions.answered(&history("blocks"));
        assert!(questions.are_answered());
        let all = ["words", "blocks", "blocks", "words", "blocks"].map(history);
        assert_eq!(core::iter::from_fn(|| asked.try_recv().ok()).collect::<Vec<_>>(), all);
    }
}
