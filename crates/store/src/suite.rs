//! What holds for every store, whatever database it stands on: one suite, run over an empty store of each kind.

pub(crate) mod agents;
pub(crate) mod classifications;
pub(crate) mod curations;
pub(crate) mod journal;
pub(crate) mod races;
pub(crate) mod servers;
pub(crate) mod skills;
pub(crate) mod suggestions;
pub(crate) mod tools;
pub(crate) mod values;
pub(crate) mod vectors;

use crate::{Page, ServerRecord, Store, ToolDraft, ToolFinder, ToolRecord};
use portolan_model::{Moment, Origin, ServerId, ServerName, Workspace, fingerprint};

/// Makes a test of each case. `$empty` is an async function; what it returns has `store()`, an `Arc<dyn Store>` with
/// nothing in it, and `settle()`, which looks afterwards whether the database itself is well.
macro_rules! conformance {
    ($empty:path) => {
        $crate::suite::conformance! { $empty;
            servers::a_server_reads_back_as_it_was_written,
            servers::servers_come_by_name,
            servers::ec_004_a_second_server_of_the_same_name_is_refused,
            servers::an_id_is_taken_once,
            servers::workspaces_are_apart,
            servers::a_change_writes_all_but_id_workspace_origin_and_registration,
            servers::a_server_that_is_not_there_cannot_be_changed,
            servers::ec_008_a_rename_keeps_id_tools_curations_and_history,
            servers::ec_008_a_rename_onto_a_taken_name_changes_nothing,
            servers::ec_008_a_name_that_was_left_can_be_taken,
            servers::br_008_removing_a_server_leaves_nothing_of_it,
            tools::br_003_the_first_list_is_kept_in_its_order,
            tools::br_003_the_same_list_again_changes_nothing,
            tools::br_003_a_changed_tool_keeps_its_id,
            tools::br_003_a_moved_tool_is_not_a_changed_one,
            tools::br_003_tools_come_and_go_beside_those_that_stay,
            tools::br_003_an_empty_list_leaves_no_tool,
            tools::a_tool_that_comes_back_is_a_new_one,
            tools::f42_of_two_tools_of_one_name_the_last_holds,
            tools::tools_of_a_server_that_is_gone_are_refused,
            tools::one_servers_list_leaves_the_others_alone,
            tools::tools_are_found_by_workspace_server_and_name,
            tools::tools_at_hand_are_found_by_id_or_by_server_and_name,
            tools::a_page_is_a_window_on_the_whole,
            tools::f43_odd_names_and_texts_come_back_to_the_byte,
            tools::ec_006_a_large_list_goes_in_at_once,
            curations::a_tool_is_enabled_until_somebody_says_otherwise,
            curations::the_latest_curation_holds,
            curations::only_a_tool_that_is_there_can_be_curated,
            curations::a_curation_outlives_the_absence_of_its_tool,
            curations::a_curation_stays_when_the_tool_changes_or_moves,
            journal::history_comes_latest_first_and_in_pages,
            journal::history_of_servers_that_are_gone_is_left_out,
            journal::each_server_keeps_its_latest_thousand_entries,
            journal::events_come_oldest_first_under_their_own_ids,
            journal::the_latest_thousand_events_are_kept,
            journal::events_may_be_sent_again,
            values::secrets_come_by_name_each_workspace_its_own,
            values::a_secret_is_replaced_and_removed,
            values::a_setting_is_what_was_put_last,
            values::a_store_answers,
            vectors::a_vector_is_found_by_its_model_and_text_alone,
            vectors::more_vectors_than_a_statement_takes_go_in_and_come_back,
            agents::the_tally_of_an_agent_is_what_was_put_last,
            agents::a_number_beyond_the_table_stays_at_its_end,
            agents::br_008_a_server_takes_the_tally_of_its_agent_with_it,
            skills::a_skill_reads_back_as_it_was_written,
            skills::an_id_of_a_skill_is_taken_once_in_a_workspace,
            skills::a_change_of_a_skill_leaves_what_it_is,
            skills::built_in_skills_are_added_once_and_what_people_did_to_them_stays,
            skills::a_removed_skill_leaves_its_tools_the_next_best_or_discovered,
            classifications::br_004_the_skills_of_a_tool_come_primary_first,
            classifications::br_004_a_page_of_tools_comes_with_their_skills,
            classifications::ec_006_more_assignments_than_a_statement_takes_are_written_whole,
            classifications::br_008_tools_are_counted_by_skill_as_long_as_they_are_there,
            classifications::br_004_a_persons_assignment_is_overwritten_by_force_alone,
            classifications::a_persons_assignment_outlives_the_absence_of_its_tool,
            classifications::br_008_a_server_takes_its_assignments_and_states_with_it,
            classifications::how_far_a_tool_is_reads_back_as_it_was_written,
            classifications::ec_009_what_is_not_classified_or_has_changed_is_open,
            classifications::open_tools_come_fewest_failures_first_and_only_so_many,
            suggestions::tools_that_nothing_fits_join_the_suggestion_that_waits,
            suggestions::an_approved_suggestion_is_a_skill_that_its_tools_have,
            suggestions::a_merged_suggestion_gives_its_tools_a_skill_that_is_there,
            suggestions::a_rejected_suggestion_is_not_made_again,
            suggestions::a_suggestion_is_settled_once,
            suggestions::a_tool_that_has_skills_waits_for_no_suggestion,
            suggestions::a_tool_that_waits_for_its_suggestion_is_not_open_until_it_changes,
            races::twenty_writers_all_get_through,
            races::f70_of_many_that_race_for_a_name_one_wins,
            races::readers_see_whole_lists_only,
        }
    };
    ($empty:path; $($part:ident::$case:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fresh = $empty().await;
                $crate::suite::$part::$case(fresh.store()).await;
                fresh.settle().await;
            }
        )+
    };
}
pub(crate) use conformance;

fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

/// A server of the default workspace with something in every field.
fn server(text: &str) -> ServerRecord {
    ServerRecord {
        id: ServerId::random(),
        workspace: Workspace::default(),
        name: name(text),
        origin: Origin::Registered,
        description: Some(format!("what {text} is for")),
        sealed_spec: Some(b"sealed\0bytes".to_vec()),
        is_wanted: true,
        registered_at: Moment::from_millis(1_736_330_400_005),
        updated_at: Moment::from_millis(1_736_330_400_006),
    }
}

/// A server that is in the store.
async fn added(store: &dyn Store, text: &str) -> ServerRecord {
    let server = server(text);
    store.add_server(&server).await.unwrap();
    server
}

/// A tool with this definition.
fn defined(name: &str, definition: &str) -> ToolDraft {
    ToolDraft {
        name: name.to_owned(),
        description: Some(format!("does {name}")),
        definition: definition.to_owned(),
        fingerprint: fingerprint([definition.as_bytes()]),
    }
}

fn draft(name: &str) -> ToolDraft {
    defined(name, &format!("{{\"name\": \"{name}\"}}"))
}

fn drafts(names: &[&str]) -> Vec<ToolDraft> {
    names.iter().map(|name| draft(name)).collect()
}

/// All tools of the default workspace.
async fn all_tools(store: &dyn Store) -> Vec<ToolRecord> {
    let found = store.tools(&ToolFinder::default(), Page::ALL).await.unwrap();
    assert_eq!(found.total, found.items.len() as u64);
    found.items
}

fn of_server(server: ServerId) -> ToolFinder {
    ToolFinder { server: Some(server), ..ToolFinder::default() }
}

fn names(tools: &[ToolRecord]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}
