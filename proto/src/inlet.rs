//! Decisions of an inlet that need no socket. lsl-wire §17.2, §18.

/// When the watchdog looks, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchdogSettings {
    /// From one look to the next (`tuning.WatchdogCheckInterval`).
    pub check_interval: f64,
    /// Silence that is suspicious (`tuning.WatchdogTimeThreshold`).
    pub threshold: f64,
}

impl Default for WatchdogSettings {
    fn default() -> Self {
        Self { check_interval: 15.0, threshold: 15.0 }
    }
}

/// Notices that a connection is silent, and starts a search for the stream although no socket reported
/// an error.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    settings: WatchdogSettings,
    next_check: f64,
}

/// What the driver must do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WatchdogOutput {
    /// Search for the stream, and poll again.
    Recover,
    /// Poll again at this local time, in seconds.
    WaitUntil(f64),
}

/// Whether an inlet waits for anything from its outlet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// Data, description or clock offset are being transferred.
    Active {
        /// Latest arrival of a sample, in seconds on the local clock.
        last_receive: f64,
    },
    /// Nothing is.
    Idle,
}

impl Watchdog {
    /// Looks for the first time one interval after `now`, in seconds on the local clock.
    pub fn new(settings: WatchdogSettings, now: f64) -> Self {
        Self { settings, next_check: now + settings.check_interval }
    }

    /// Says what to do next; call again until it says to wait.
    ///
    /// - Units: `now` in seconds on the local clock.
    pub fn poll(&mut self, now: f64, transfer: Transfer) -> WatchdogOutput {
        if now < self.next_check {
            return WatchdogOutput::WaitUntil(self.next_check);
        }
        self.next_check = now + self.settings.check_interval;
        match transfer {
            Transfer::Active { last_receive } if now - last_receive > self.settings.threshold => {
                WatchdogOutput::Recover
            }
            _ => WatchdogOutput::WaitUntil(self.next_check),
        }
    }
}

/// Pause between a failed connection and the next attempt, in seconds.
pub const RETRY_PAUSE: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::{Transfer, Watchdog, WatchdogOutput, WatchdogSettings};

    #[test]
    fn silence_of_an_active_transfer_is_noticed() {
        let mut watchdog = Watchdog::new(WatchdogSettings::default(), 0.0);
        let active = Transfer::Active { last_receive: 10.0 };
        assert_eq!(watchdog.poll(14.9, active), WatchdogOutput::WaitUntil(15.0));
        assert_eq!(watchdog.poll(15.0, active), WatchdogOutput::WaitUntil(30.0));
        assert_eq!(watchdog.poll(30.0, active), WatchdogOutput::Recover);
        assert_eq!(watchdog.poll(30.0, active), WatchdogOutput::WaitUntil(45.0));
        assert_eq!(watchdog.poll(45.0, Transfer::Idle), WatchdogOutput::WaitUntil(60.0));
    }
}
