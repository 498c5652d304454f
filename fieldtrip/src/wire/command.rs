/// What a request asks for (spec: fieldtrip §4).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Command {
    /// Removes the events; their numbering starts again.
    FlushEvents,
    /// Removes header, samples and events.
    FlushHeader,
    /// Removes the samples; their numbering starts again.
    FlushSamples,
    /// Reads events.
    GetEvents,
    /// Reads the header with the current totals.
    GetHeader,
    /// Reads samples.
    GetSamples,
    /// Appends events.
    PutEvents,
    /// Appends events; nothing comes back.
    PutEventsUnanswered,
    /// Replaces the header and drops all samples and events.
    PutHeader,
    /// As [`Command::PutHeader`]; nothing comes back.
    PutHeaderUnanswered,
    /// Appends samples.
    PutSamples,
    /// Appends samples; nothing comes back.
    PutSamplesUnanswered,
    /// Waits until there are more samples or events than a threshold, or the time is over.
    Wait,
}

/// The group of a command, which decides the codes of its replies.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Family {
    /// Flushing.
    Flush,
    /// Reading.
    Get,
    /// Writing.
    Put,
    /// Waiting.
    Wait,
}

impl Command {
    /// Every command.
    pub const ALL: [Self; 13] = [
        Self::FlushEvents,
        Self::FlushHeader,
        Self::FlushSamples,
        Self::GetEvents,
        Self::GetHeader,
        Self::GetSamples,
        Self::PutEvents,
        Self::PutEventsUnanswered,
        Self::PutHeader,
        Self::PutHeaderUnanswered,
        Self::PutSamples,
        Self::PutSamplesUnanswered,
        Self::Wait,
    ];

    /// Reads a command code; `None` for codes that do not exist.
    pub fn parse(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.code() == code)
    }

    /// The code on the wire.
    pub fn code(self) -> u16 {
        match self {
            Self::PutHeader => 0x0101,
            Self::PutSamples => 0x0102,
            Self::PutEvents => 0x0103,
            Self::GetHeader => 0x0201,
            Self::GetSamples => 0x0202,
            Self::GetEvents => 0x0203,
            Self::FlushHeader => 0x0301,
            Self::FlushSamples => 0x0302,
            Self::FlushEvents => 0x0303,
            Self::Wait => 0x0402,
            Self::PutHeaderUnanswered => 0x0501,
            Self::PutSamplesUnanswered => 0x0502,
            Self::PutEventsUnanswered => 0x0503,
        }
    }

    /// The group that decides the codes of the replies.
    pub fn family(self) -> Family {
        match self {
            Self::FlushEvents | Self::FlushHeader | Self::FlushSamples => Family::Flush,
            Self::GetEvents | Self::GetHeader | Self::GetSamples => Family::Get,
            Self::Wait => Family::Wait,
            Self::PutEvents
            | Self::PutEventsUnanswered
            | Self::PutHeader
            | Self::PutHeaderUnanswered
            | Self::PutSamples
            | Self::PutSamplesUnanswered => Family::Put,
        }
    }

    /// Whether a reply follows, on success as on refusal (spec: fieldtrip §10).
    pub fn is_answered(self) -> bool {
        !matches!(self, Self::PutEventsUnanswered | Self::PutHeaderUnanswered | Self::PutSamplesUnanswered)
    }

    /// Whether the command changes what the buffer holds.
    pub fn is_writing(self) -> bool {
        matches!(self.family(), Family::Flush | Family::Put)
    }
}

impl Family {
    /// The reply code for success.
    pub fn ok(self) -> u16 {
        self.base() | 0x04
    }

    /// The reply code for refusal. Scripts match its decimal number: 261, 517, 773, 1029.
    pub fn refused(self) -> u16 {
        self.base() | 0x05
    }

    fn base(self) -> u16 {
        match self {
            Self::Put => 0x0100,
            Self::Get => 0x0200,
            Self::Flush => 0x0300,
            Self::Wait => 0x0400,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_code_and_no_other_code_exists() {
        let known = (0..=u16::MAX).filter_map(Command::parse).count();
        assert_eq!(known, Command::ALL.len());
        for command in Command::ALL {
            assert_eq!(Command::parse(command.code()), Some(command));
        }
    }

    #[test]
    fn refusals_have_the_numbers_that_scripts_expect() {
        let numbers = [Family::Put, Family::Get, Family::Flush, Family::Wait].map(Family::refused);
        assert_eq!(numbers, [261, 517, 773, 1029]);
    }
}
