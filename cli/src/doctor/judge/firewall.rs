//! What the firewall of Windows does to programs of LSL.

use super::{
    super::{Finding, Weight, facts::Facts},
    add,
};

pub(super) fn firewall(facts: &Facts, findings: &mut Vec<Finding>) {
    let inbound = || facts.rules.iter().filter(|rule| rule.is_inbound);
    for program in PROGRAMS {
        let Some(rule) = inbound().find(|rule| rule.blocks && rule.is_about(program)) else { continue };
        let weight = if program == OWN { Weight::Fault } else { Weight::Warning };
        let (name, path) = (&rule.name, &rule.program);
        add(
            findings,
            weight,
            "firewall-blocks-program",
            format!(
                "The firewall of Windows keeps {path} from receiving: no other computer sees its streams."
            ),
            format!(
                "netsh advfirewall firewall set rule name=\"{name}\" program=\"{path}\" dir=in new action=allow    # as \
                 administrator"
            ),
        );
    }
    let is_let_in = inbound().any(|rule| !rule.blocks && rule.is_about(OWN));
    for network in facts.networks.iter().filter(|network| network.is_public && !is_let_in) {
        let name = &network.name;
        add(
            findings,
            Weight::Warning,
            "public-network",
            format!(
                "Windows takes the network {name} for a public one, where it lets in nothing that it was not told of."
            ),
            format!(
                "Set-NetConnectionProfile -InterfaceAlias \"{name}\" -NetworkCategory Private    # in PowerShell, as administrator"
            ),
        );
    }
}

const OWN: &str = "schwann.exe";

/// Programs that send and receive streams in many labs.
const PROGRAMS: [&str; 7] =
    [OWN, "LabRecorder.exe", "LabRecorderCLI.exe", "MATLAB.exe", "Unity.exe", "python.exe", "pythonw.exe"];
