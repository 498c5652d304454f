//! The file that `nats-server` reads.

use std::io;
use std::path::Path;

use schwann::security::keys::store;

use super::{CERTIFICATE, CONFIGURATION, LOG, PRIVATE_KEY, PROCESS, Plan, STORE};
use crate::access::Access;

/// Writes the configuration of the server `name`, with the lab's present keys.
pub(super) fn write(plan: &Plan, name: &str, access: &Access) -> io::Result<()> {
    let text = text(plan, name, access)?;
    store::write_private(&plan.folder.join(CONFIGURATION), text.as_bytes()).map_err(io::Error::other)
}

fn text(plan: &Plan, name: &str, access: &Access) -> io::Result<String> {
    let lab = access.lab_digits();
    let path = |name: &str| quoted(&plan.folder.join(name));
    let tls =
        format!("{{ cert_file: {}, key_file: {}, timeout: 5 }}", path(CERTIFICATE)?, path(PRIVATE_KEY)?);
    let users: Vec<String> = access.hub_keys().iter().map(|key| user(&key.public_key(), &lab)).collect();
    let Plan { listen, websocket, limit_bytes, .. } = plan;
    let (store, log, process) = (path(STORE)?, path(LOG)?, path(PROCESS)?);
    Ok(format!(
        "# Written by `schwann hub up`, which writes it anew at each start and each revocation.
server_name: \"{name}\"
pid_file: {process}
listen: \"{listen}\"
tls: {tls}
websocket: {{ listen: \"{websocket}\", tls: {tls}, compression: false }}
log_file: {log}
logfile_size_limit: 16777216
max_payload: {MAX_PAYLOAD}
max_pending: {MAX_PENDING}
max_connections: 1024
max_subscriptions: 4096
# What it acknowledged is on its disk, as far as it knows. Members do not rely on it.
jetstream: {{ store_dir: {store}, sync_interval: always, max_file_store: {limit_bytes}, max_memory_store: 67108864 }}
accounts: {{
  lab_{lab}: {{
    jetstream: enabled
    users: [
{}
    ]
  }}
}}
",
        users.join("\n")
    ))
}

/// What the holders of a key may do: publish and read the lab's messages, and nothing to the log but read it.
fn user(public: &str, lab: &str) -> String {
    let mut api = vec![String::from("$JS.API.INFO"), String::from("$JS.ACK.>"), format!("schwann.{lab}.>")];
    // A wildcard stands for a whole word alone.
    for log in ["blocks", "words"].map(|kind| format!("schwann_{lab}_{kind}")) {
        let requests = ["STREAM.CREATE", "STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE"];
        api.extend(requests.map(|request| format!("$JS.API.{request}.{log}")));
        let further =
            ["DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT"];
        api.extend(further.map(|request| format!("$JS.API.{request}.{log}.>")));
    }
    let allowed: Vec<String> = api.iter().map(|subject| format!("\"{subject}\"")).collect();
    format!(
        "      {{ nkey: {public}, permissions: {{ publish: [{}], subscribe: [\"schwann.{lab}.>\", \"_INBOX.>\"] }} }}",
        allowed.join(", ")
    )
}

/// A path as the configuration's language has it; Windows knows slashes, too.
fn quoted(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().ok_or_else(|| io::Error::other("its path is no Unicode"))?.replace('\\', "/");
    if text.contains(['"', '\n']) {
        return Err(io::Error::other("its path has a quotation mark"));
    }
    Ok(format!("\"{text}\""))
}

/// Above a block with 1 MiB of samples and 512 wrapped keys, in bytes.
const MAX_PAYLOAD: u32 = 2 << 20;
/// What waits for one member at most, in bytes; a member that is slower is disconnected, and asks again.
const MAX_PENDING: u32 = 64 << 20;
