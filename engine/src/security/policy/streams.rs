//! Streams with another policy than the computer's.
//!
//! | Where | How |
//! | --- | --- |
//! | `[security]` in `lsl_api.cfg` | `require = {EEG, Heart}`, `prefer = {…}`, `off = {Markers}`: names of streams |
//! | `$SCHWANN_SECURITY_STREAMS` | `EEG=require; Markers=off`, instead of those lists |
//! | the outlet's own description | `<desc><security>require</security></desc>`; it may only be stricter |
//!
//! A stream that is named twice, or with a word that is no policy, is sealed.
//!
//! Source: secure-session §6.

use schwann_proto::stream_info::StreamInfo;

use super::Policy;
use crate::config::Config;

/// The policies of single streams, by name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StreamPolicies(Vec<(String, Policy)>);

impl StreamPolicies {
    /// Reads `name=policy; name=policy`.
    pub fn parse(text: &str) -> Self {
        let mut policies = Self::default();
        for item in text.split(';').map(str::trim).filter(|item| !item.is_empty()) {
            // A name may have an equals sign; a policy has none.
            let (name, word) = item.rsplit_once('=').unwrap_or((item, ""));
            policies.add(name.trim(), Policy::of_word(word.trim()).unwrap_or(Policy::Require));
        }
        policies
    }

    /// The policies that a configuration gives.
    pub(super) fn of(config: &Config) -> Self {
        let mut policies = Self::default();
        let policies_read = if config.is_substitute { &[Policy::Require][..] } else { &ALL };
        for &policy in policies_read {
            let Some(list) = config.raw("security", policy.word()) else { continue };
            let list = list.trim();
            let names = list.strip_prefix('{').and_then(|list| list.strip_suffix('}')).unwrap_or(list);
            for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                policies.add(name, policy);
            }
        }
        policies
    }

    /// The same with the rules of `others`, where they are stricter. `before` and `least` are the policies
    /// for streams that neither of them names.
    pub(super) fn tightened(&self, before: Policy, others: &Self, least: Policy) -> Self {
        let mut tight = Self(self.0.iter().map(|(name, policy)| (name.clone(), *policy)).collect());
        for (name, said) in others.iter() {
            tight.add(name, said.max(self.of_stream(name).unwrap_or(before)));
        }
        for (name, policy) in &mut tight.0 {
            if others.of_stream(name).is_none() {
                *policy = (*policy).max(least);
            }
        }
        tight
    }

    fn add(&mut self, name: &str, policy: Policy) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = (*known).max(policy),
            None => self.0.push((name.to_owned(), policy)),
        }
    }

    /// The policy of the stream with this name, if it has one of its own.
    pub fn of_stream(&self, name: &str) -> Option<Policy> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, policy)| *policy)
    }

    /// Every stream with a policy of its own.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Policy)> {
        self.0.iter().map(|(name, policy)| (name.as_str(), *policy))
    }

    /// The strictest policy of any stream.
    pub(super) fn strictest(&self) -> Option<Policy> {
        self.0.iter().map(|(_, policy)| *policy).max()
    }

    /// The condition that a stream has one of the names of those that may go in the clear; nothing if there are none.
    pub(super) fn plain_condition(&self) -> Option<String> {
        // XPath has no way to write both quotes in one text; a name with both is not asked for.
        let quoted = self.plain().filter_map(|name| match (name.contains('\''), name.contains('"')) {
            (false, _) => Some(format!("name='{name}'")),
            (true, false) => Some(format!("name=\"{name}\"")),
            (true, true) => None,
        });
        let conditions: Vec<_> = quoted.collect();
        (!conditions.is_empty()).then(|| conditions.join(" or "))
    }

    /// The names of streams that may go in the clear.
    pub(super) fn plain(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, policy)| *policy != Policy::Require).map(|(name, _)| name.as_str())
    }
}

/// What an outlet's own description asks for.
pub(super) fn of_description(info: &StreamInfo) -> Option<Policy> {
    let (document, desc) = (info.document(), info.desc()?);
    let said = document.child(desc, "security").map(|security| document.child_value(security).to_string())?;
    Some(Policy::of_word(said.trim()).unwrap_or(Policy::Require))
}

const ALL: [Policy; 3] = [Policy::Require, Policy::Prefer, Policy::Off];

#[cfg(test)]
mod tests {
    use schwann_proto::stream::ChannelFormat;

    use super::*;

    #[test]
    fn lists_name_streams_and_doubt_seals() {
        let text = "[security]\nrequire={EEG, Heart}\noff={Markers, Heart}\nprefer=Lone\n";
        let policies = StreamPolicies::of(&Config::parse(text).expect("valid"));
        let of = |name| policies.of_stream(name);
        assert_eq!(
            [of("EEG"), of("Markers"), of("Lone")].map(Option::unwrap),
            [Policy::Require, Policy::Off, Policy::Prefer]
        );
        assert_eq!((of("Heart"), of("Other")), (Some(Policy::Require), None));
        assert_eq!(policies.plain().collect::<Vec<_>>(), ["Lone", "Markers"]);
    }

    #[test]
    fn names_become_a_condition_that_parses() {
        let policies = StreamPolicies::parse("a=off; it's=prefer; both '\"=off; Shut=require");
        let condition = policies.plain_condition().expect("a condition");
        assert_eq!(condition, "name='a' or name=\"it's\"");
        assert!(schwann_proto::wire::query::Query::parse(&condition).is_ok());
        assert_eq!(StreamPolicies::parse("Shut=require").plain_condition(), None);
    }

    #[test]
    fn the_environment_names_streams_the_same_way() {
        let policies = StreamPolicies::parse("EEG=require; a=b=off ;Markers = of; Bare");
        let of = |name| policies.of_stream(name);
        assert_eq!((of("EEG"), of("a=b")), (Some(Policy::Require), Some(Policy::Off)));
        assert_eq!((of("Markers"), of("Bare")), (Some(Policy::Require), Some(Policy::Require)));
    }

    #[test]
    fn a_description_says_what_its_stream_needs() {
        let mut info = StreamInfo::new("n", "EEG", 1, 0.0, ChannelFormat::Int8, "").expect("valid");
        info.reset_uid([1; 16]);
        assert_eq!(of_description(&info), None);
        for (word, policy) in [("require", Policy::Require), ("off", Policy::Off), ("of", Policy::Require)] {
            let xml = String::from_utf8(info.fullinfo()).expect("text");
            let from = xml.find("<desc").expect("a desc");
            let said = format!("{}<desc><security>{word}</security></desc></info>", &xml[..from]);
            let said = StreamInfo::parse(said.as_bytes()).expect("valid");
            assert_eq!(of_description(&said), Some(policy));
        }
    }
}
