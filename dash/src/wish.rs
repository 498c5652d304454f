//! What a page asks for, and what it gets of that.

use serde::Deserialize;

use super::{
    analysis::Analyse,
    chain::{Minus, Processing, Row},
    decimate::Selection,
    filter::Filters,
    labels::Labels,
    monitor::{Kind, Monitor},
    order::Order,
    outlets::{Description, Samples},
    role::Role,
};

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Request {
    /// To have something computed of a view.
    Analyse(Analyse),
    /// What the clock of the lab says.
    Clock {
        /// Comes back as it is.
        sent: f64,
        #[serde(default)]
        request: Option<u32>,
    },
    /// To end a stream that the page sends.
    Close { outlet: u32 },
    /// To forget streams that have stopped.
    Dismiss { streams: Vec<u32> },
    /// To see no more of these views.
    Hide { views: Vec<u32> },
    /// To write a marker.
    Mark {
        text: String,
        /// On the lab's clock; none for now.
        #[serde(default)]
        time: Option<f64>,
        /// Comes back with the answer.
        #[serde(default)]
        request: Option<u32>,
    },
    /// To open a stream that the page sends.
    Outlet {
        #[serde(flatten)]
        description: Description,
        #[serde(default)]
        request: Option<u32>,
    },
    /// To send samples.
    Push(Samples),
    /// To follow streams that are listed alone.
    Receive { streams: Vec<u32> },
    /// To drive the recorder.
    Record {
        #[serde(flatten)]
        order: Order,
        #[serde(default)]
        request: Option<u32>,
    },
    /// To see one.
    Show(Wish),
}

impl Request {
    /// Who may ask this: holders of a link of this role, or of one that may more.
    pub(super) fn role(&self) -> Role {
        match self {
            Self::Analyse(_)
            | Self::Clock { .. }
            | Self::Hide { .. }
            | Self::Receive { .. }
            | Self::Show(_) => Role::Look,
            Self::Close { .. } | Self::Mark { .. } | Self::Outlet { .. } | Self::Push(_) => Role::Mark,
            Self::Dismiss { .. } | Self::Record { .. } => Role::Record,
        }
    }

    /// The page's number for it, which comes back with the answer.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Clock { request, .. }
            | Self::Mark { request, .. }
            | Self::Outlet { request, .. }
            | Self::Record { request, .. } => *request,
            _ => None,
        }
    }
}

/// What a page wants to see.
#[derive(Debug, Deserialize)]
pub(super) struct Wish {
    /// The page's name for the place in which it shows it; what was there before ends.
    #[serde(default)]
    pub(super) view: u32,
    /// The page's number for this wish, which its frames carry.
    pub(super) generation: u32,
    pub(super) stream: u32,
    /// Channels in the order in which they are drawn; none for the first ones.
    #[serde(default)]
    channels: Option<Vec<u32>>,
    /// What is subtracted from them.
    #[serde(default)]
    reference: Option<Reference>,
    /// Channels that are in no average.
    #[serde(default)]
    bad: Vec<u32>,
    /// Pixel columns.
    columns: u32,
    /// Seconds from the left edge to the right one.
    window: f64,
    /// The right edge on the lab's clock; none to follow what comes.
    #[serde(default)]
    pub(super) until: Option<f64>,
    #[serde(default)]
    filters: Filters,
}

/// What is subtracted.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Reference {
    /// The mean of all channels that are not bad.
    Average(Average),
    /// One channel for all.
    Channel(u32),
    /// One for each that is shown: a bipolar montage.
    Pairs(Vec<Option<u32>>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Average {
    Average,
}

impl Wish {
    /// What is shown for this wish, within what a connection may carry; none if it makes no sense.
    ///
    /// - Units: `longest` in seconds that can be looked back.
    pub(super) fn selection(&self, monitor: &Monitor, longest: f64) -> Option<Selection> {
        let (info, finite) = (monitor.info(), self.window.is_finite());
        if monitor.kind() != Kind::Signal || !finite || !self.until.is_none_or(f64::is_finite) {
            return None;
        }
        let count = info.channel_count();
        let wanted = self.channels.clone().unwrap_or_else(|| (0..count.min(DEFAULT_CHANNELS)).collect());
        let rows = wanted.iter().enumerate().map(|(place, &channel)| self.row(place, channel, count));
        let rows: Vec<Row> = rows.filter(|row| row.channel < count).take(MAX_CHANNELS).collect();
        let averaged = match self.reference {
            Some(Reference::Average(_)) => self.averaged(&rows, count),
            _ => Vec::new(),
        };
        let bytes_per_column = 8 + 8 * rows.len() as u32;
        let columns = self.columns.clamp(1, MAX_COLUMNS.min(FRAME_LIMIT / bytes_per_column));
        let window = self.window.clamp(LEAST_WINDOW, longest.max(LEAST_WINDOW));
        // The past is sent once, so only what goes on is limited in its rate.
        let slowest = if self.until.is_some() { 0.0 } else { f64::from(bytes_per_column) / RATE_LIMIT };
        let column_seconds = (window / f64::from(columns)).max(slowest);
        let filters = self.filters.possible(info.nominal_rate());
        let processing = Processing { rows, averaged, filters };
        Some(Selection { processing, column_seconds, columns: columns as usize })
    }

    fn row(&self, place: usize, channel: u32, count: u32) -> Row {
        let minus = match &self.reference {
            None => Minus::Nothing,
            Some(Reference::Average(_)) => Minus::Average,
            Some(Reference::Channel(other)) => Minus::Channel(*other),
            Some(Reference::Pairs(pairs)) => {
                pairs.get(place).copied().flatten().map_or(Minus::Nothing, Minus::Channel)
            }
        };
        let is_there = !matches!(minus, Minus::Channel(other) if other >= count || other == channel);
        Row { channel, minus: if is_there { minus } else { Minus::Nothing } }
    }

    /// All channels if they are not too many for each sample, otherwise those that are shown.
    fn averaged(&self, rows: &[Row], count: u32) -> Vec<u32> {
        let is_good = |channel: &u32| !self.bad.contains(channel);
        if count as usize <= MAX_AVERAGED {
            (0..count).filter(is_good).collect()
        } else {
            rows.iter().map(|row| row.channel).filter(is_good).collect()
        }
    }
}

/// What a row is called.
pub(super) fn row_name(row: Row, labels: &Labels) -> String {
    match row.minus {
        Minus::Channel(other) => {
            format!("{}−{}", labels.name(row.channel as usize), labels.name(other as usize))
        }
        Minus::Average | Minus::Nothing => labels.name(row.channel as usize),
    }
}

const DEFAULT_CHANNELS: u32 = 64;
const FRAME_LIMIT: u32 = 4 << 20;
/// Shorter than any distance of samples that an eye would want to see.
const LEAST_WINDOW: f64 = 0.001;
const MAX_AVERAGED: usize = 512;
const MAX_CHANNELS: usize = 256;
const MAX_COLUMNS: u32 = 4096;
/// Bytes per second of traces that one view gets at most.
const RATE_LIMIT: f64 = 4e6;
