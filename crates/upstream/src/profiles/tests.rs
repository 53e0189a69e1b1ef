//! What is looked at, how often, and of how many profiles at most.

use super::*;
use futures_util::FutureExt as _;

fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

fn profile(number: usize) -> Abilities {
    Abilities::parse(&format!(r#"{{"experimental":{{"n":{number}}}}}"#))
}

/// Somebody asks for all of these servers.
fn ask(profiles: &Profiles, number: usize, servers: &[(&str, Presence)]) {
    let servers: Vec<(ServerName, Presence)> =
        servers.iter().map(|(name, presence)| (server(name), *presence)).collect();
    let servers: Vec<(&ServerName, Presence)> =
        servers.iter().map(|(name, presence)| (name, *presence)).collect();
    let turns = profiles.turns();
    assert!(profiles.want(&profile(number), &servers, turns));
    profiles.complete(&profile(number), turns);
}

/// The next errand, which has to be a look.
#[track_caller]
fn look(profiles: &Profiles) -> Look {
    match profiles.next() {
        Some(Errand::Look(look)) => look,
        other => panic!("{other:?}"),
    }
}

/// Runs every errand, and says where they led.
fn run(profiles: &Profiles) -> Vec<String> {
    let mut ran = Vec::new();
    while let Some(errand) = profiles.next() {
        ran.push(match &errand {
            Errand::Look(look) => {
                assert!(profiles.is_wanted(look));
                profiles.done(look, Outcome::Found);
                look.server.to_string()
            }
            Errand::Forget(_) => "forget".to_owned(),
        });
    }
    ran
}

const HERE: Presence = Presence::Here;

#[test]
fn each_pair_is_looked_at_once_until_its_server_goes_or_shows_something_else() {
    let profiles = Profiles::default();
    ask(&profiles, 1, &[("a", HERE), ("b", HERE)]);
    ask(&profiles, 1, &[("a", HERE), ("b", HERE)]);
    ask(&profiles, 2, &[("b", HERE)]);
    assert!(profiles.is_complete(&profile(1)));
    assert_eq!(run(&profiles), ["a", "b", "b"]);
    ask(&profiles, 1, &[("a", HERE), ("b", HERE)]);
    assert_eq!(run(&profiles), [""; 0]);
    profiles.forget(&server("b"));
    assert!(!profiles.is_complete(&profile(1)));
    ask(&profiles, 1, &[("a", HERE), ("b", HERE)]);
    assert_eq!(run(&profiles), ["b"]);
}

#[test]
fn what_was_found_of_a_server_that_has_gone_meanwhile_is_not_told() {
    let profiles = Profiles::default();
    ask(&profiles, 1, &[("a", HERE)]);
    let first = look(&profiles);
    profiles.forget(&server("a"));
    ask(&profiles, 1, &[("a", HERE)]);
    assert!(!profiles.is_wanted(&first));
    profiles.done(&first, Outcome::Found);
    assert!(profiles.is_wanted(&look(&profiles)), "the other look is still to be taken");
}

#[test]
fn a_server_that_is_on_its_way_is_looked_at_when_it_arrives() {
    let profiles = Profiles::default();
    ask(&profiles, 1, &[("a", Presence::Coming)]);
    assert_eq!(run(&profiles), [""; 0]);
    let turns = profiles.turns();
    profiles.arrived(&server("a"));
    assert!(!profiles.want(&profile(2), &[(&server("a"), Presence::Coming)], turns), "it has come since");
    assert_eq!(run(&profiles), ["a"]);
    profiles.forget(&server("a"));
    profiles.arrived(&server("a"));
    assert_eq!(run(&profiles), [""; 0], "nobody has asked since");
}

#[test]
fn a_change_during_a_look_is_looked_at_after_it_and_the_first_is_told_all_the_same() {
    let profiles = Profiles::default();
    profiles.again(&server("a"), &profile(1));
    assert_eq!(run(&profiles), [""; 0], "nobody wants to know");
    ask(&profiles, 1, &[("a", HERE)]);
    let first = look(&profiles);
    profiles.again(&server("a"), &profile(1));
    profiles.again(&server("a"), &profile(1));
    assert!(profiles.is_wanted(&first));
    profiles.done(&first, Outcome::Found);
    assert_eq!(run(&profiles), ["a"]);
    profiles.again(&server("a"), &profile(1));
    assert_eq!(run(&profiles), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_came_to_nothing_is_taken_again_after_a_while() {
    let profiles = Profiles::default();
    ask(&profiles, 1, &[("a", HERE)]);
    profiles.done(&look(&profiles), Outcome::Failed);
    ask(&profiles, 1, &[("a", HERE)]);
    assert!(!profiles.is_complete(&profile(1)) && profiles.next().is_none());
    tokio::time::advance(RETRY).await;
    ask(&profiles, 1, &[("a", HERE)]);
    assert_eq!(run(&profiles), ["a"]);
    assert!(profiles.is_complete(&profile(1)));
}

#[test]
fn any_number_of_profiles_takes_no_more_room_than_a_few() {
    let profiles = Profiles::default();
    for number in 0..MOST {
        ask(&profiles, number, &[("a", HERE), ("b", HERE)]);
    }
    run(&profiles);
    ask(&profiles, 0, &[("a", HERE)]);
    for number in MOST..100 * MOST {
        ask(&profiles, number, &[("a", HERE), ("b", HERE)]);
    }
    let table = profiles.table();
    assert_eq!(table.all.len(), MOST);
    let looks = table.errands.iter().filter(|errand| matches!(errand, Errand::Look(_))).count();
    // Only what was told has to be taken back.
    assert_eq!((looks, table.errands.len() - looks), (2 * MOST, MOST));
    assert_eq!(table.errands[0], Errand::Forget(profile(0)), "it was asked for last of those");
}

#[tokio::test]
async fn whoever_waits_for_looks_waits_for_those_of_its_profile_and_for_no_others() {
    let profiles = Profiles::default();
    let (a, b) = (server("a"), server("b"));
    let is_settled = async |number, server: Option<&ServerName>| {
        let abilities = profile(number);
        profiles.settled(&abilities, server).now_or_never().is_some()
    };
    ask(&profiles, 1, &[("a", HERE), ("b", HERE), ("c", Presence::Coming)]);
    assert!(!is_settled(1, None).await && !is_settled(1, Some(&b)).await);
    assert!(is_settled(2, None).await && is_settled(1, Some(&server("c"))).await);
    profiles.done(&look(&profiles), Outcome::Found);
    assert!(is_settled(1, Some(&a)).await && !is_settled(1, None).await);
    let abilities = profile(1);
    tokio::join!(profiles.settled(&abilities, None), async { profiles.forget(&b) });
}
