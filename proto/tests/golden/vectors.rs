//! The captured exchanges.

use std::{fs, path::Path};

use schwann_proto::{stream::ChannelFormat, wire::sample::ByteOrder};
use serde_json::Value;

pub(crate) struct Exchange {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) checks: Value,
}

pub(crate) struct Step {
    pub(crate) from_library: bool,
    pub(crate) note: String,
    pub(crate) bytes: Vec<u8>,
}

/// A sample as the C interface showed it.
pub(crate) struct Pulled {
    pub(crate) stamp: f64,
    pub(crate) values: Vec<Value>,
}

impl Exchange {
    pub(crate) fn load(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let json: Value = serde_json::from_str(&text).unwrap();
        let steps = json["steps"].as_array().unwrap().iter().map(Step::new).collect();
        Self { name: name.into(), steps, checks: json["checks"].clone() }
    }

    pub(crate) fn pulled(&self) -> Vec<Pulled> {
        let pulled = ["pulled", "pulled_0", "pulled_1", "pulled_2"].into_iter();
        pulled.filter_map(|key| self.checks.get(key)).map(Pulled::new).collect()
    }
}

impl Step {
    fn new(json: &Value) -> Self {
        let hex = json["hex"].as_str().unwrap();
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        Self {
            from_library: json["dir"] == "lib->script",
            note: json["note"].as_str().unwrap_or_default().into(),
            bytes: bytes.collect(),
        }
    }
}

impl Pulled {
    fn new(json: &Value) -> Self {
        Self {
            stamp: json["timestamp"].as_str().unwrap().parse().unwrap(),
            values: json["values"].as_array().unwrap().clone(),
        }
    }

    /// The values of a string stream; the capture shows bytes as Latin-1 characters.
    pub(crate) fn strings(&self) -> Vec<Vec<u8>> {
        let latin1 = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        self.values.iter().map(|value| latin1(value.as_str().unwrap())).collect()
    }

    pub(crate) fn doubles(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.as_str().unwrap().parse().unwrap()).collect()
    }

    pub(crate) fn integers(&self) -> Vec<i64> {
        self.values.iter().map(|value| value.as_i64().unwrap()).collect()
    }
}

pub(crate) const FORMATS: [ChannelFormat; 7] = ChannelFormat::ALL;
pub(crate) const ORDERS: [(ByteOrder, &str); 2] = [(ByteOrder::Little, "le"), (ByteOrder::Big, "be")];
/// Channels of every captured stream, unless its test says otherwise.
pub(crate) const CHANNEL_COUNT: usize = 3;
