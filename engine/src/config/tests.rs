//! Tables of configuration texts and what they mean.

use super::sections::WITHOUT_EFFECT;
use super::*;

fn config(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn error(text: &str) -> String {
    Config::parse(text).expect_err("the text is wrong").to_string()
}

/// `checks/39-guide.sh` compares the names.
#[test]
fn the_guide_tells_every_default() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/guide/src/reference/configuration.md"
    ));
    let (page, defaults, mut section) = (page.expect("the page"), Config::default(), "");
    let mut count = 0;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## `[") {
            section = title.trim_end_matches("]`");
        }
        let cells: Vec<&str> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let &[_, key, default, _, _] = cells.as_slice() else { continue };
        if line.starts_with("| `") && section != "security" && !default.is_empty() {
            let text = format!("[{section}]\n{key}={default}\n");
            let told = Config { raw: defaults.raw.clone(), ..config(&text) };
            assert_eq!(told, defaults, "{text}");
            count += 1;
        }
    }
    assert!(count > 35, "{count} rows");
}

#[test]
fn the_defaults_are_those_of_the_reference() {
    let config = Config::default();
    assert_eq!((config.log.level, &config.log.file), (0, &None));
    let Ports { multicast, base, range, fallback, ip } = config.ports.clone();
    assert_eq!((multicast, base, range), (16571, 16572, 32));
    assert_eq!((fallback, ip), (PortFallback::Random, IpVersions::Both));
    let discovery: Vec<String> =
        config.multicast.discovery_addresses.iter().map(ToString::to_string).collect();
    assert_eq!(
        discovery,
        [
            "127.0.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "224.0.0.183",
            "ff02:113d:6fdd:2c17:a643:ffe2:1bd1:3cd2",
            "239.255.172.215",
            "ff05:113d:6fdd:2c17:a643:ffe2:1bd1:3cd2",
        ]
    );
    assert_eq!(config.multicast.ttl, 24);
    assert_eq!(config.lab.session_id, "default");
    assert!(!config.lab.resolve_over_tcp && config.lab.known_peers.is_empty());
    let seconds = |duration: Duration| duration.as_secs_f64();
    let tuning = &config.tuning;
    assert_eq!(tuning.protocol_version, 110);
    assert_eq!(tuning.timer_resolution_ms, 1);
    assert_eq!(seconds(tuning.watchdog_check_interval), 15.0);
    assert_eq!(seconds(tuning.watchdog_time_threshold), 15.0);
    assert_eq!(seconds(tuning.sync_send_timeout), 15.0);
    assert_eq!(seconds(tuning.multicast_min_rtt), 0.5);
    assert_eq!(seconds(tuning.multicast_max_rtt), 3.0);
    assert_eq!(seconds(tuning.unicast_min_rtt), 0.75);
    assert_eq!(seconds(tuning.unicast_max_rtt), 5.0);
    assert_eq!(seconds(tuning.continuous_resolve_interval), 0.5);
    assert_eq!(tuning.max_cached_queries, 100);
    assert_eq!(seconds(tuning.time_update_interval), 2.0);
    assert_eq!((tuning.time_update_min_probes, tuning.time_probe_count), (6, 8));
    assert_eq!(seconds(tuning.time_probe_interval), 0.064);
    assert_eq!(seconds(tuning.time_probe_max_rtt), 0.128);
    assert_eq!((tuning.send_socket_buffer_size, tuning.receive_socket_buffer_size), (0, 0));
    assert_eq!(tuning.smoothing_halftime, 90.0);
    assert!(!tuning.force_default_timestamps && tuning.local_socket);
}

#[test]
fn every_key_changes_its_field() {
    type Holds = fn(&Config) -> bool;
    let changes: [(&str, Holds); 43] = [
        ("log.level=-3", |c| c.log.level == -3),
        ("log.file=/tmp/x.log", |c| c.log.file == Some("/tmp/x.log".into())),
        ("ports.MulticastPort=1", |c| c.ports.multicast == 1),
        ("ports.BasePort=1", |c| c.ports.base == 1),
        ("ports.PortRange=1", |c| c.ports.range == 1),
        ("ports.AllowRandomPorts=0", |c| c.ports.fallback == PortFallback::Fail),
        ("ports.IPv6=forced", |c| c.ports.ip == IpVersions::V6),
        ("multicast.ResolveScope=global", |c| c.multicast.ttl == 255),
        ("multicast.ListenAddress=10.0.0.1", |c| c.multicast.listen_address.is_some()),
        ("multicast.IPv6MulticastGroup=1:2:3:4:5:6:7", |c| in_list(c, "ff05:1:2:3:4:5:6:7")),
        ("multicast.MachineAddresses={127.0.0.2}", |c| in_list(c, "127.0.0.2")),
        ("multicast.LinkAddresses={224.0.0.2}", |c| in_list(c, "224.0.0.2")),
        ("multicast.SiteAddresses={239.0.0.2}", |c| in_list(c, "239.0.0.2")),
        ("multicast.OrganizationAddresses={239.0.0.3}\nmulticast.ResolveScope=organization", |c| {
            in_list(c, "239.0.0.3") && c.multicast.ttl == 32
        }),
        ("multicast.GlobalAddresses={239.0.0.4}\nmulticast.ResolveScope=global", |c| in_list(c, "239.0.0.4")),
        ("multicast.TTLOverride=7", |c| c.multicast.ttl == 7),
        ("multicast.AddressesOverride={10.0.0.9}", |c| {
            c.multicast.discovery_addresses == [IpAddr::from([10, 0, 0, 9])]
        }),
        ("multicast.Interfaces={10.0.0.1, fe80::1%2}", |c| c.multicast.interfaces.len() == 2),
        ("lab.KnownPeers={a, 10.0.0.2}", |c| c.lab.known_peers == ["a", "10.0.0.2"]),
        ("lab.SessionID=mine", |c| c.lab.session_id == "mine"),
        ("lab.ResolveOverTCP=1", |c| c.lab.resolve_over_tcp),
        ("tuning.UseProtocolVersion=100", |c| c.tuning.protocol_version == 100),
        ("tuning.UseProtocolVersion=120", |c| c.tuning.protocol_version == 110),
        ("tuning.WatchdogCheckInterval=1", |c| c.tuning.watchdog_check_interval == SECOND),
        ("tuning.WatchdogTimeThreshold=1", |c| c.tuning.sync_send_timeout == SECOND),
        ("tuning.SyncSendTimeout=1", |c| c.tuning.sync_send_timeout == SECOND),
        ("tuning.MulticastMinRTT=1", |c| c.tuning.multicast_min_rtt == SECOND),
        ("tuning.MulticastMaxRTT=1", |c| c.tuning.multicast_max_rtt == SECOND),
        ("tuning.UnicastMinRTT=1", |c| c.tuning.unicast_min_rtt == SECOND),
        ("tuning.UnicastMaxRTT=1", |c| c.tuning.unicast_max_rtt == SECOND),
        ("tuning.ContinuousResolveInterval=1", |c| c.tuning.continuous_resolve_interval == SECOND),
        ("tuning.MaxCachedQueries=1", |c| c.tuning.max_cached_queries == 1),
        ("tuning.TimeUpdateInterval=1", |c| c.tuning.time_update_interval == SECOND),
        ("tuning.TimeUpdateMinProbes=1", |c| c.tuning.time_update_min_probes == 1),
        ("tuning.TimeProbeCount=1", |c| c.tuning.time_probe_count == 1),
        ("tuning.TimeProbeInterval=1", |c| c.tuning.time_probe_interval == SECOND),
        ("tuning.TimeProbeMaxRTT=1", |c| c.tuning.time_probe_max_rtt == SECOND),
        ("tuning.SendSocketBufferSize=1", |c| c.tuning.send_socket_buffer_size == 1),
        ("tuning.ReceiveSocketBufferSize=1", |c| c.tuning.receive_socket_buffer_size == 1),
        ("tuning.SmoothingHalftime=1", |c| c.tuning.smoothing_halftime == 1.0),
        ("tuning.ForceDefaultTimestamps=1", |c| c.tuning.force_default_timestamps),
        ("tuning.LocalSocket=off", |c| !c.tuning.local_socket),
        ("tuning.TimerResolution=0", |c| c.tuning.timer_resolution_ms == 0),
    ];
    for (text, holds) in changes {
        let (config, notes) = Config::parse_with_notes(text).expect("valid");
        assert!(holds(&config), "{text}: {config:?}");
        assert!(!holds(&Config::default()) || text.contains("=120"), "{text} changes nothing");
        assert_eq!(notes, [], "{text}");
    }
}

#[test]
fn keys_without_an_effect_are_accepted_and_noted() {
    let mut text = String::from("[tuning]\n");
    for key in WITHOUT_EFFECT {
        text += &format!("{}=whatever\n", key.strip_prefix("tuning.").expect("of this section"));
    }
    let (config, notes) = Config::parse_with_notes(&text).expect("valid");
    assert_eq!(config.tuning, Config::default().tuning);
    let noted: Vec<_> = notes.iter().map(|note| (note.line, note.key.as_str(), note.kind)).collect();
    let expected: Vec<_> =
        WITHOUT_EFFECT.iter().enumerate().map(|(n, key)| (n + 2, *key, NoteKind::NoEffect)).collect();
    assert_eq!(noted, expected);
    assert_eq!(
        notes[3].to_string(),
        "line 5: tuning.OutletBufferReserveSamples is accepted and has no effect"
    );
}

const SECOND: Duration = Duration::from_secs(1);

fn in_list(config: &Config, address: &str) -> bool {
    config.multicast.discovery_addresses.contains(&address.parse().expect("an address"))
}

#[test]
fn switches_take_words_and_digits() {
    for (word, value) in [
        ("1", true),
        ("true", true),
        ("Yes", true),
        ("ON", true),
        ("0", false),
        ("false", false),
        ("no", false),
        ("Off", false),
    ] {
        assert_eq!(config(&format!("lab.ResolveOverTCP={word}")).lab.resolve_over_tcp, value, "{word}");
    }
}

#[test]
fn a_wrong_value_is_named_with_its_line() {
    for (text, expected) in [
        ("[ports]\nBasePort=abc", "line 2: ports.BasePort is not a number"),
        ("[ports]\nBasePort=70000", "line 2: ports.BasePort must be between 0 and 65535"),
        ("[ports]\nIPv6=maybe", "line 2: ports.IPv6 must be one of allow, disable, force"),
        ("[log]\nlevel=10", "line 2: log.level must be between -3 and 9"),
        (
            "[lab]\n\nResolveOverTCP=2",
            "line 3: lab.ResolveOverTCP must be 1, true, yes or on, or 0, false, no or off",
        ),
        (
            "[multicast]\nResolveScope=Site",
            "line 2: multicast.ResolveScope must be one of machine, link, site, organization, global",
        ),
        (
            "[multicast]\nLinkAddresses={10.0.0}",
            "line 2: multicast.LinkAddresses contains something that is not an IP address",
        ),
        ("[multicast]\nTTLOverride=256", "line 2: multicast.TTLOverride must be between -2147483648 and 255"),
        ("[tuning]\nUnicastMinRTT=-1", "line 2: tuning.UnicastMinRTT must be between 0 and 32000000"),
        ("[tuning]\nUnicastMinRTT=soon", "line 2: tuning.UnicastMinRTT is not a number"),
        (
            "[multicast]\nIPv6MulticastGroup=x",
            "line 2: multicast.IPv6MulticastGroup contains something that is not an IP address",
        ),
    ] {
        let text = format!("{text}\n[log]\nfile=kept\n");
        let (config, notes) = Config::parse_with_notes(&text).expect("each line is INI");
        let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, [format!("{expected}, so its default counts")], "{text:?}");
        let (raw, log) = (config.raw.clone(), LogConfig { level: 0, file: Some("kept".into()) });
        assert_eq!(config, Config { raw, log, ..Config::default() }, "{text:?}");
    }
    assert_eq!(error("[lab\nx=1"), "line 1 opens a section without a closing ']'");
}

#[test]
fn oddities_leave_notes_and_unknown_keys_are_ignored() {
    let text = "[ports]\nBasePort=17000xyz\n[tuning]\nuse_protocol_version=100\n[lab]\nKnownPeers=a, b\n\
                [security]\nrecordings=sealed\nPolicy=off\n[Security]\npolicy=off\n[relay]\nHub=x";
    let (config, notes) = Config::parse_with_notes(text).expect("valid");
    assert_eq!((config.ports.base, config.tuning.protocol_version), (17000, 110));
    assert_eq!(config.lab.known_peers, [""; 0]);
    assert_eq!(config.raw("security", "recordings"), Some("sealed"));
    let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "line 2: ports.BasePort: text behind the number is ignored",
            "line 4: tuning.use_protocol_version is no known key and is ignored",
            "line 6: lab.KnownPeers is empty, because a list needs braces: {a, b}",
            "line 9: security.Policy is no known key, so streams must be sealed until it is corrected",
            "line 11: Security.policy is no known key, so streams must be sealed until it is corrected",
            "line 13: relay.Hub is no known key and is ignored",
        ]
    );
}

#[test]
fn a_disabled_ip_version_leaves_the_address_list() {
    let v4 = config("ports.IPv6=disable").multicast.discovery_addresses;
    assert!(v4.len() == 5 && v4.iter().all(IpAddr::is_ipv4));
    let v6 = config("ports.IPv6=force").multicast.discovery_addresses;
    assert!(v6.len() == 2 && v6.iter().all(IpAddr::is_ipv6));
}

#[test]
fn scopes_are_cumulative() {
    for (scope, addresses, ttl) in
        [("machine", 1, 0), ("link", 5, 1), ("site", 7, 24), ("organization", 8, 32), ("global", 9, 255)]
    {
        let multicast = config(&format!("multicast.ResolveScope={scope}")).multicast;
        assert_eq!((multicast.discovery_addresses.len(), multicast.ttl), (addresses, ttl), "{scope}");
    }
}

#[test]
fn the_service_range_ends_with_the_ports() {
    let range = |text: &str| config(text).ports.service_range().collect::<Vec<_>>();
    assert_eq!(range("ports.BasePort=100\nports.PortRange=3"), [100, 101, 102]);
    assert_eq!(range("ports.BasePort=65534\nports.PortRange=9"), [65534, 65535]);
    assert_eq!(range("ports.BasePort=0\nports.PortRange=9"), [0_u16; 0]);
    assert_eq!(range("ports.PortRange=0"), [0_u16; 0]);
}

#[test]
fn the_first_valid_candidate_wins_and_the_others_are_reported() {
    let folder = std::env::temp_dir().join(format!("schwann-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path
    };
    let broken = file("broken.cfg", "[lab]\n# comment\n");
    let good = file("good.cfg", "[lab]\nSessionID=good\n");
    let unused = file("unused.cfg", "[lab]\nSessionID=unused\n");
    let absent = folder.join("absent.cfg");
    let search = Search {
        content: Some("ports.BasePort".to_owned()),
        required: vec![absent.clone(), broken.clone()],
        optional: vec![absent.clone(), good.clone(), unused],
    };
    let (config, report) = search.load();
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert_eq!(config.lab.session_id, "good");
    assert_eq!(report.origin(), Some(&Origin::File(good)));
    let origins: Vec<_> = report.attempts.iter().map(|attempt| &attempt.origin).collect();
    let (absent, broken) = (Origin::File(absent), Origin::File(broken));
    assert_eq!(origins[..3], [&Origin::Content, &absent, &broken]);
    assert_eq!(report.attempts.len(), 4, "an optional file that is absent is no attempt");
    assert_eq!(report.attempts[1].outcome, Outcome::Unreadable(std::io::ErrorKind::NotFound));
    let text = report.to_string();
    assert!(text.contains("broken.cfg is NOT used: line 2 has no '='"), "{text}");
}

#[test]
fn beneath_a_file_in_the_current_folder_lies_the_one_that_would_count_without_it() {
    let folder = std::env::temp_dir().join(format!("schwann-beneath-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let home = folder.join("lsl_api.cfg");
    std::fs::write(&home, "[security]\npolicy=prefer\n").expect("a temporary file");
    // A test's current folder is the crate's. This file there is no configuration, but an empty one would do as
    // well.
    let local = PathBuf::from(LOCAL);
    std::fs::write(&local, "; nothing\n").expect("a file");
    let load = |optional: &[&PathBuf]| {
        let optional = optional.iter().map(|path| path.to_path_buf()).collect();
        Search { optional, ..Search::default() }.load().0
    };
    let beneath = load(&[&local, &home]).beneath;
    let alone = load(&[&local, &folder.join("absent")]).beneath;
    let whole = std::path::absolute(&local).expect("a path");
    let same = load(&[&local, &whole]).beneath;
    let named = Search { required: vec![local.clone()], ..Search::default() }.load().0.beneath;
    std::fs::remove_file(&local).expect("it is ours");
    assert_eq!(beneath.expect("a file in the current folder").raw("security", "policy"), Some("prefer"));
    assert!(alone.is_some_and(|beneath| !beneath.is_substitute));
    assert_eq!(load(&[&home]).beneath, None);
    assert_eq!(same, None, "the current folder is the user's own place for it");
    assert_eq!(named, None, "a file that was named is meant");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// A configuration in the current folder, under a name that no other program looks for.
const LOCAL: &str = "schwann-test-local.cfg";

#[test]
fn without_a_valid_candidate_the_defaults_are_used() {
    let search = Search { content: Some("nonsense".to_owned()), ..Search::default() };
    let (config, report) = search.load();
    // The text may have asked for streams to be sealed.
    assert_eq!((config, report.origin()), (Config { is_substitute: true, ..Config::default() }, None));
    assert!(report.to_string().ends_with("the built-in defaults are in use\n"));
}

#[test]
fn a_policy_in_a_file_that_cannot_be_used_is_not_lost() {
    let lost = |text: &str| {
        let search = Search { content: Some(text.to_owned()), ..Search::default() };
        search.load().0.has_lost_policy
    };
    assert!(lost("[ports]\nBasePort\n[ Security ] ; ours\npolicy=require\n"));
    assert!(!lost("[ports]\nBasePort\n"), "it says nothing of security");
    assert!(!lost("[security]\npolicy=require\n"), "it is in force");
}

#[test]
fn mutated_texts_never_panic() {
    let seed = "[ports]\nBasePort=17000\nIPv6=allow\n[multicast]\nInterfaces={fe80::1%2, 10.0.0.1}\n\
                TTLOverride=3\n[lab]\nKnownPeers={a,b}\n[tuning]\nTimeProbeInterval=0.064e0\n";
    let mut random = 0x9e37_79b9_u32;
    let mut next = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random as usize % bound
    };
    let (mut valid, mut wrong) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = seed.as_bytes().to_vec();
        for _ in 0..1 + next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = b"\n=[]{};%.e-\xff0z"[next(14)],
                1 => drop(bytes.drain(at..)),
                _ => bytes.insert(at, next(256) as u8),
            }
            bytes.push(b'\n');
        }
        match Config::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(_) => valid += 1,
            Err(_) => wrong += 1,
        }
    }
    assert!(valid > 1000 && wrong > 1000, "{valid} {wrong}");
}
