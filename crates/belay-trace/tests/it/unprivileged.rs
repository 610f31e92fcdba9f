//! What the tracer of an ordinary user must pass; as root too.

use belay_trace::Engine::Unprivileged;

use crate::{files, orphans, processes, terminal};

#[test]
fn short_lives() {
    processes::short_lives(Unprivileged);
}

#[test]
fn any_arguments() {
    processes::any_arguments(Unprivileged);
}

#[test]
fn every_kind_of_exec() {
    processes::every_kind_of_exec(Unprivileged);
}

#[test]
fn double_forks() {
    processes::double_forks(Unprivileged);
}

#[test]
fn every_kind_of_end() {
    processes::every_kind_of_end(Unprivileged);
}

#[test]
fn stops_and_threads() {
    processes::stops_and_threads(Unprivileged);
}

#[test]
fn a_bounded_fork_bomb() {
    processes::a_bounded_fork_bomb(Unprivileged);
}

#[test]
fn a_parallel_make() {
    processes::a_parallel_make(Unprivileged);
}

#[test]
fn nothing_foreign() {
    processes::nothing_foreign(Unprivileged);
}

#[test]
fn an_archive() {
    files::an_archive(Unprivileged);
}

#[test]
fn a_file_without_a_name() {
    files::a_file_without_a_name(Unprivileged);
}

#[test]
fn a_name_that_is_gone() {
    files::a_name_that_is_gone(Unprivileged);
}

#[test]
fn a_storm() {
    files::a_storm(Unprivileged);
}

#[test]
fn commands_in_turn() {
    files::commands_in_turn(Unprivileged);
}

#[test]
fn somebody_else() {
    files::somebody_else(Unprivileged);
}

#[test]
fn with_few_watches() {
    files::with_few_watches(Unprivileged);
}

#[test]
fn the_limit_of_watches() {
    files::the_limit_of_watches("unprivileged::with_few_watches");
}

#[test]
fn a_rebase() {
    processes::a_rebase(Unprivileged);
}

#[test]
fn job_control() {
    terminal::job_control(Unprivileged);
}

#[test]
fn victim() {
    orphans::victim(Unprivileged);
}

#[test]
fn a_killed_tracer() {
    orphans::a_killed_tracer("unprivileged::victim");
}

#[test]
fn a_killed_follower() {
    orphans::a_killed_follower(Unprivileged);
}

#[test]
fn a_tracer_that_leaves() {
    orphans::a_tracer_that_leaves(Unprivileged);
}
