//! The time of day at which a recording began.

use time::{Date, Month, UtcOffset};

/// Seconds since 1970 of a time as ISO 8601 writes it, such as `2026-11-25T10:00:00.5+0100`; none if it is no such time.
pub(super) fn seconds_since_1970(text: &str) -> Option<f64> {
    let (date, clock) = text.trim().split_once('T')?;
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at_checked(zone_at)?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    let mut parts = clock.splitn(3, ':');
    let (hours, minutes) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let seconds: f64 = parts.next().unwrap_or("0").parse().ok().filter(|it| (0.0..61.0).contains(it))?;
    let at = date.with_hms(hours, minutes, 0).ok()?.assume_offset(offset(zone)?);
    Some(at.unix_timestamp() as f64 + seconds)
}

fn offset(zone: &str) -> Option<UtcOffset> {
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        0 => (0, 0),
        2 => (digits.parse().ok()?, 0),
        4 => (digits.get(..2)?.parse().ok()?, digits.get(2..)?.parse().ok()?),
        _ => return None,
    };
    let sign: i8 = if zone.starts_with('-') { -1 } else { 1 };
    UtcOffset::from_hms(sign.checked_mul(hours)?, sign.checked_mul(minutes)?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::seconds_since_1970;

    #[test]
    fn times_of_recorders_are_read_and_others_are_none() {
        for (text, seconds) in [
            ("1970-01-01T00:00:10Z", Some(10.0)),
            ("2026-11-25T10:00:00.5+0100", Some(1_795_597_200.5)),
            ("2026-11-25T09:00:00.5+0000", Some(1_795_597_200.5)),
            ("2026-11-25T04:00:00.5-05:00", Some(1_795_597_200.5)),
            ("2026-11-25T09:00:00.5", Some(1_795_597_200.5)),
            ("", None),
            ("2026-13-25T10:00:00", None),
            ("2026-11-25 10:00:00", None),
            ("2026-11-25T10:00:00+9", None),
            ("2026-11-25T10:00:99", None),
            ("2026-11-25T1ä:00:00", None),
        ] {
            assert_eq!(seconds_since_1970(text), seconds, "{text}");
        }
    }
}
