//! What root's tracer must pass, by BPF and fanotify.

use belay_trace::Engine::Privileged;

use crate::world::able;
use crate::{files, flood, kernel, processes, terminal};

#[test]
fn short_lives() {
    if able() {
        processes::short_lives(Privileged);
    }
}

#[test]
fn any_arguments() {
    if able() {
        processes::any_arguments(Privileged);
    }
}

#[test]
fn every_kind_of_exec() {
    if able() {
        processes::every_kind_of_exec(Privileged);
    }
}

#[test]
fn double_forks() {
    if able() {
        processes::double_forks(Privileged);
    }
}

#[test]
fn every_kind_of_end() {
    if able() {
        processes::every_kind_of_end(Privileged);
    }
}

#[test]
fn stops_and_threads() {
    if able() {
        processes::stops_and_threads(Privileged);
    }
}

#[test]
fn a_bounded_fork_bomb() {
    if able() {
        processes::a_bounded_fork_bomb(Privileged);
    }
}

#[test]
fn a_parallel_make() {
    if able() {
        processes::a_parallel_make(Privileged);
    }
}

#[test]
fn nothing_foreign() {
    if able() {
        processes::nothing_foreign(Privileged);
    }
}

#[test]
fn an_archive() {
    if able() {
        files::an_archive(Privileged);
    }
}

#[test]
fn a_file_without_a_name() {
    if able() {
        files::a_file_without_a_name(Privileged);
    }
}

#[test]
fn a_storm() {
    if able() {
        files::a_storm(Privileged);
    }
}

#[test]
fn commands_in_turn() {
    if able() {
        files::commands_in_turn(Privileged);
    }
}

#[test]
fn somebody_else() {
    if able() {
        files::somebody_else(Privileged);
    }
}

#[test]
fn a_rebase() {
    if able() {
        processes::a_rebase(Privileged);
    }
}

#[test]
fn job_control() {
    if able() {
        terminal::job_control(Privileged);
    }
}

#[test]
fn a_group_and_nobody_else() {
    if able() {
        kernel::a_group_and_nobody_else();
    }
}

#[test]
fn thousands_of_execs_a_second() {
    if able() {
        flood::execs(Privileged);
    }
}

#[test]
fn waiting_notices() {
    if able() {
        flood::notices();
    }
}

#[test]
fn busy_neighbours() {
    if able() {
        flood::neighbours(Privileged);
    }
}

#[test]
fn without_a_close() {
    if able() {
        kernel::without_a_close();
    }
}

#[test]
fn through_memory() {
    if able() {
        kernel::through_memory();
    }
}

#[test]
fn several_names() {
    if able() {
        kernel::several_names();
    }
}

#[test]
fn a_mount_beneath() {
    if able() {
        kernel::a_mount_beneath();
    }
}

#[test]
fn every_file_system() {
    if able() {
        kernel::every_file_system();
    }
}

#[test]
fn a_subvolume() {
    if able() {
        kernel::a_subvolume();
    }
}

#[test]
fn an_overlay() {
    if able() {
        kernel::an_overlay();
    }
}
