#compdef belay

autoload -U is-at-least

_belay() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_belay_commands" \
"*::: :->belay" \
&& ret=0
    case $state in
    (belay)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
'-l+[A name for the run]:NAME:_default' \
'--label=[A name for the run]:NAME:_default' \
'--time=[Stop it after this time, such as 90s or 10m]:TIME:_default' \
'--memory=[Let it use no more memory than this, such as 2GiB]:SIZE:_default' \
'--processes=[Let it have no more processes and threads than this]:N:_default' \
'--isolation=[What keeps the command in; without it, a jail if a flag below asks for one, else what isolation.engine says]:ENGINE:((auto\:"The strongest that works"
jail\:"A jail, or no run at all"
none\:"Nothing"))' \
'--profile=[What a confined command may reach; without it, the profile that suits CMD]:NAME:_default' \
'*--ro=[Let a confined command read this too]:PATH:_files' \
'*--rw=[Let a confined command write this too; what it changes there outside of the workspace cannot be taken back]:PATH:_files' \
'*--hide=[Hide this from a confined command]:PATH:_files' \
'--backend=[Where the content of its snapshots is to lie; without it, where snapshots.backend says]:NAME:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-d[Do not wait\: the run goes on without this terminal]' \
'--detach[Do not wait\: the run goes on without this terminal]' \
'(--isolation)--ephemeral[Keep what the command writes to the workspace apart, for \`belay review\`; in a jail or not at all]' \
'--denials[Watch for paths that the jail refuses, even where every call must wait for that; root'\''s runs always do]' \
'--here[Make this very directory a workspace, even if it lies inside one]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::command -- The command and its arguments:_default' \
&& ret=0
;;
(watch)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-d[Do not wait\: the watch goes on without this terminal]' \
'--detach[Do not wait\: the watch goes on without this terminal]' \
'(-d --detach)--list[List the watches that go on]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::directories -- The directories; the current one by default:_files' \
&& ret=0
;;
(attach)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run; the latest that goes on in this workspace by default:_default' \
&& ret=0
;;
(stop)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--now[Kill at once]' \
'(--now)--helper[End the helper that answers the hooks of agents here]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run or watch; the latest that goes on in this workspace by default:_default' \
&& ret=0
;;
(logs)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-f[Go on showing until the run ends]' \
'--follow[Go on showing until the run ends]' \
'--raw[Show the bytes as they are, with everything that moves the cursor or asks the terminal for something]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run; the latest in this workspace by default:_default' \
&& ret=0
;;
(runs)
_arguments "${_arguments_options[@]}" : \
'-n+[Show only the newest N]:N:_default' \
'--limit=[Show only the newest N]:N:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-a[List the runs of all workspaces]' \
'--all[List the runs of all workspaces]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run; the latest in this workspace by default:_default' \
&& ret=0
;;
(log)
_arguments "${_arguments_options[@]}" : \
'--command=[Show only this command and what it started]:N:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-f[Go on showing what happens until the run ends]' \
'--follow[Go on showing what happens until the run ends]' \
'(--no-files)--files[Show every file of every command]' \
'--no-files[Show no files]' \
'-a[Show every command, even those that repeat, and every file]' \
'--all[Show every command, even those that repeat, and every file]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run; the latest in this workspace by default:_default' \
&& ret=0
;;
(sql)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'(--json)--csv[Print comma-separated values]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run\: an id or its beginning, a label, @latest, @-2; the latest by default:_default' \
':sql -- The question:_default' \
&& ret=0
;;
(audit)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__audit_commands" \
"*::: :->audit" \
&& ret=0

    case $state in
    (audit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-audit-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::what -- The run, or a file that `belay audit export` wrote; the latest run by default:_default' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'*--redact=[Leave out every event in whose JSON form this text occurs; the rest can still be checked]:TEXT:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':run -- The run\: an id or its beginning, a label, @latest, @-2:_default' \
':file -- The file, which must not exist yet:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__audit__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-audit-help-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(snapshot)
_arguments "${_arguments_options[@]}" : \
'-l+[A name for the snapshot, unique in the workspace]:NAME:_default' \
'--label=[A name for the snapshot, unique in the workspace]:NAME:_default' \
'-d+[A longer note]:TEXT:_default' \
'--description=[A longer note]:TEXT:_default' \
'--prompt=[What the user asked for in that turn]:TEXT:_default' \
'--backend=[Where its content is to lie; without it, where snapshots.backend says]:NAME:_default' \
'--hash=[The hash function of a store that does not exist yet]:NAME:(blake3 sha256)' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--turn[Mark the beginning of a turn of an agent, so that \`belay undo @turn-N\` can take it back]' \
'-a[Capture everything, regenerable and excluded directories too]' \
'--all[Capture everything, regenerable and excluded directories too]' \
'--full[Read every byte, instead of trusting that files whose times, size and inode are unchanged are the same]' \
'--here[Make this very directory a workspace, even if it lies inside one]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::path -- A directory in the workspace; the current one by default:_files' \
&& ret=0
;;
(snapshots)
_arguments "${_arguments_options[@]}" : \
'-n+[Show only the newest N]:N:_default' \
'--limit=[Show only the newest N]:N:_default' \
'-t+[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'--type=[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-l[Show number, exact time, files, bytes and description too]' \
'--long[Show number, exact time, files, bytes and description too]' \
'(-t --type -l --long)--refs[List the named states in the workspace'\''s git repository (refs/sandbox/snapshots/) instead]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__snapshots_commands" \
"*::: :->snapshots" \
&& ret=0

    case $state in
    (snapshots)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-snapshots-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-n+[Show only the newest N]:N:_default' \
'--limit=[Show only the newest N]:N:_default' \
'-t+[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'--type=[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-l[Show number, exact time, files, bytes and description too]' \
'--long[Show number, exact time, files, bytes and description too]' \
'(-t --type -l --long)--refs[List the named states in the workspace'\''s git repository (refs/sandbox/snapshots/) instead]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-n+[Show only the newest N]:N:_default' \
'--limit=[Show only the newest N]:N:_default' \
'-t+[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'--type=[Show only snapshots of this type, such as manual, pre-run or safety]:TYPE:(pre-run git build idle auto manual turn tool safety final)' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-l[Show number, exact time, files, bytes and description too]' \
'--long[Show number, exact time, files, bytes and description too]' \
'(-t --type -l --long)--refs[List the named states in the workspace'\''s git repository (refs/sandbox/snapshots/) instead]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
'--keep=[Keep the N newest, a pre-run one among them, and delete the rest]:N:_default' \
'--older-than=[Delete what is older than this, such as 7d or 36h]:SPAN:_default' \
'--budget=[Delete until the store takes no more than this, such as 2GiB]:SIZE:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be deleted]' \
'--dry-run[Only show what would be deleted]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-f[Delete also what the next undo or redo needs, which can then not be done any more]' \
'--force[Delete also what the next undo or redo needs, which can then not be done any more]' \
'-n[Only show what would be deleted]' \
'--dry-run[Only show what would be deleted]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::snapshots -- The snapshots:_default' \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-f[Delete also what the next undo or redo needs, which can then not be done any more]' \
'--force[Delete also what the next undo or redo needs, which can then not be done any more]' \
'-n[Only show what would be deleted]' \
'--dry-run[Only show what would be deleted]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::snapshots -- The snapshots:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__snapshots__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-snapshots-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(status)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-a[Name every changed and every unprotected path, instead of the first few]' \
'--all[Name every changed and every unprotected path, instead of the first few]' \
'-s[Only name what changed, a letter and a path a line]' \
'--short[Only name what changed, a letter and a path a line]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'-U+[Show N lines around each change]:N:_default' \
'--unified=[Show N lines around each change]:N:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'(--name-only --name-status)--stat[Count changed lines instead of showing them]' \
'--name-only[Only name what changed]' \
'(--name-only)--name-status[Only name what changed, each with the letter that \`belay status\` gives it]' \
'--all[Show each file of a \`.git\` that came or went as a whole, too]' \
'--exit-code[Exit with 1 when something differs]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::from -- The older snapshot; the last known state by default:_default' \
'::to -- The newer snapshot; the present by default:_default' \
'*::paths -- Only these files and directories:_files' \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
'(-n --dry-run --mtime)--to=[Write the snapshot into this new or empty directory instead, and leave the workspace alone]:DIR:_files' \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--skip-damaged[Leave files as they are whose content is damaged in the store, and bring back the rest]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::snapshot -- The snapshot to go back to:_default' \
'*::paths -- Only these files and directories:_files' \
&& ret=0
;;
(review)
_arguments "${_arguments_options[@]}" : \
'(--apply --all --none)*--apply-hunk=[Apply hunks of a file by their numbers, such as src/main.rs\:2 or src/main.rs\:1,3]:PATH:N:_default' \
'--run=[The run; by default the latest ephemeral one of this workspace that still waits for a review]:RUN:_default' \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--apply[Apply it; on a terminal, after one question for all of it]' \
'(--none)--all[Apply everything]' \
'(--apply)--none[Apply nothing, and discard what was written as \`belay discard\` does]' \
'-p[Show every hunk with its number]' \
'--patch[Show every hunk with its number]' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::paths -- Only these files and directories:_files' \
&& ret=0
;;
(discard)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::run -- The run; by default the latest ephemeral one of this workspace that still waits for a review:_default' \
&& ret=0
;;
(fork)
_arguments "${_arguments_options[@]}" : \
'(--to)-n+[Make so many, called NAME-1, NAME-2, …]:N:_default' \
'(--to)--number=[Make so many, called NAME-1, NAME-2, …]:N:_default' \
'--to=[Make it a directory of its own, new or empty]:DIR:_files' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-y[Do not ask before a full copy]' \
'--yes[Do not ask before a full copy]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::name -- The name; without it, the next free one of fork-1, fork-2, …:_default' \
'::snapshot -- Begin with the workspace as it was in this snapshot:_default' \
&& ret=0
;;
(forks)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__forks_commands" \
"*::: :->forks" \
&& ret=0

    case $state in
    (forks)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-forks-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Their names:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__forks__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-forks-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'-U+[Show N lines around each change]:N:_default' \
'--unified=[Show N lines around each change]:N:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'(--name-only --name-status)--stat[Count changed lines instead of showing them]' \
'--name-only[Only name what changed]' \
'(--name-only)--name-status[Only name what changed, each with the letter that \`belay status\` gives it]' \
'--all[Show each file of a \`.git\` that came or went as a whole, too]' \
'--exit-code[Exit with 1 when something differs]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':from -- A fork, or origin:_default' \
'::to -- The fork that it is compared with; without it, A is compared with the workspace:_default' \
'*::paths -- Only these files and directories:_files' \
&& ret=0
;;
(pick)
_arguments "${_arguments_options[@]}" : \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The fork:_default' \
'*::paths -- Only these files and directories:_files' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'(--skip-damaged)--command=[The number of the command to take back, with everything that it started; \`belay log\` shows the numbers]:N:_default' \
'--run=[The run that the command belongs to; the latest by default]:RUN:_default' \
'(--command --skip-damaged)--step=[Take back what happened between this snapshot and the next]:SNAP:_default' \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--skip-damaged[Leave files as they are whose content is damaged in the store, and bring back the rest]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::turn -- The turn to take back\: from its snapshot to the next turn, or to now; or '\''#N'\'', a command of the latest run:_default' \
&& ret=0
;;
(redo)
_arguments "${_arguments_options[@]}" : \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--skip-damaged[Leave files as they are whose content is damaged in the store, and bring back the rest]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
'--mtime=[Give restored files the time they had, or the present one so that build tools see the change]:WHICH:((exact\:"The one it had"
fresh\:"The present"))' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only show what would be done]' \
'--dry-run[Only show what would be done]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--skip-damaged[Leave files as they are whose content is damaged in the store, and bring back the rest]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The files and directories; before them, the snapshot to take them from:_files' \
&& ret=0
;;
(history)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-a[Show the snapshots in which it did not change, too]' \
'--all[Show the snapshots in which it did not change, too]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':path -- The file or directory; it need not exist any more:_files' \
&& ret=0
;;
(changes)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-a[Name every path, also in directories that came or went as a whole]' \
'--all[Name every path, also in directories that came or went as a whole]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::of -- A run or a snapshot:_default' \
&& ret=0
;;
(blame)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':path -- The file, with a colon and a number for a single line:_files' \
&& ret=0
;;
(bisect)
_arguments "${_arguments_options[@]}" : \
'--since=[A snapshot at which CMD still succeeds]:SNAP:_default' \
'--until=[A snapshot at which it fails; the present by default]:SNAP:_default' \
'--profile=[What CMD may reach; without it, the profile that suits it]:NAME:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-v[Show what CMD writes, on standard error]' \
'--verbose[Show what CMD writes, on standard error]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::command -- The command and its arguments:_default' \
&& ret=0
;;
(cat)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::snapshot -- The snapshot; the newest by default:_default' \
':path -- The file:_files' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-l[Show mode, owner, size and time]' \
'--long[Show mode, owner, size and time]' \
'-R[List what is in directories, too]' \
'--recursive[List what is in directories, too]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::snapshot -- The snapshot; the newest by default:_default' \
'::path -- A file or directory; the current directory by default:_files' \
&& ret=0
;;
(find)
_arguments "${_arguments_options[@]}" : \
'-s+[Search this snapshot only]:SNAP:_default' \
'--snapshot=[Search this snapshot only]:SNAP:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':pattern -- A part of a name, or a glob:_default' \
&& ret=0
;;
(du)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--why[Show for each snapshot what deleting it alone would free, and which paths take most]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(gc)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'-n[Only say what would be freed]' \
'--dry-run[Only say what would be freed]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--deep[Read and check every byte]' \
'--repair[Bring back lost records, store damaged content anew where a workspace still holds it, and set the rest aside]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'(-f --force)--git-ref=[Write a commit and call it refs/sandbox/snapshots/NAME, which must not exist]:NAME:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--all[Put what git ignores into the commit, too]' \
'-f[Overwrite an archive that exists]' \
'--force[Overwrite an archive that exists]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':snapshot -- The snapshot:_default' \
'::to -- The archive or directory:_files' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'()--git-ref=[A ref of the workspace'\''s own repository\: one beneath refs/sandbox/snapshots/, or a full name such as refs/heads/main]:NAME:_default' \
'-l+[A name for the snapshot, unique in the workspace]:NAME:_default' \
'--label=[A name for the snapshot, unique in the workspace]:NAME:_default' \
'-d+[A longer note]:TEXT:_default' \
'--description=[A longer note]:TEXT:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::from -- A tar archive, plain or compressed with gzip or zstd; or a directory:_files' \
&& ret=0
;;
(forget)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--everywhere[Erase the same content from every other path and workspace that ever held it, too]' \
'--consoles[Also erase everything that the terminals of runs showed whose records name a path]' \
'-n[Only show which snapshots hold them, and which runs name them]' \
'--dry-run[Only show which snapshots hold them, and which runs name them]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::paths -- The files and directories; they need not exist any more:_files' \
&& ret=0
;;
(workspaces)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__workspaces_commands" \
"*::: :->workspaces" \
&& ret=0

    case $state in
    (workspaces)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-workspaces-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'()--gone[All whose directory is gone]' \
'--existing[Also the history of a directory that still exists]' \
'-n[Only show what would go]' \
'--dry-run[Only show what would go]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Identifiers or paths, as `belay workspaces` lists them:_default' \
&& ret=0
;;
(forget)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'()--gone[All whose directory is gone]' \
'--existing[Also the history of a directory that still exists]' \
'-n[Only show what would go]' \
'--dry-run[Only show what would go]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::names -- Identifiers or paths, as `belay workspaces` lists them:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__workspaces__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-workspaces-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(profile)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__profile_commands" \
"*::: :->profile" \
&& ret=0

    case $state in
    (profile)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-profile-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- The profile:_default' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The file:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__profile__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-profile-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(why)
_arguments "${_arguments_options[@]}" : \
'--profile=[Under this profile]:NAME:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--path[It is a path]' \
'--host[It is a host]' \
'--call[It is a system call]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':what -- The path, host, system call or variable:_default' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-config-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--origin[Show where each value comes from]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::prefix -- Only keys that begin so:_default' \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--origin[Show where each value comes from]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::prefix -- Only keys that begin so:_default' \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':key -- The key, such as snapshots.retention.budget:_default' \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':key -- The key, such as snapshots.retention.budget:_default' \
':value -- The value:_default' \
&& ret=0
;;
(unset)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':key -- The key, such as snapshots.retention.budget:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__config__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-config-help-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(unset)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(trust)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--revoke[Trust it no longer]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'()--project[Also connect the agents that are used here, in the project'\''s own settings]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::path -- The project; the current directory by default:_files' \
&& ret=0
;;
(install)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'()--all[All agents that are used here]' \
'-n[Only show what would be written]' \
'--dry-run[Only show what would be written]' \
'--project[Write into the settings of this project, and not into your own]' \
'--worktrees[Let Claude Code get the copies that it works in (its worktrees) from belay\: git-ignored files and dependencies included]' \
'--shell[Have every command line that Claude Code gives to a shell go through belay, which takes a snapshot first if anything changed\: also when hooks are switched off]' \
'--no-probe[Do not try the hook out afterwards]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::agents -- The agents:((claude\:"Claude Code"
codex\:"Codex CLI"
gemini\:"Gemini CLI"
cursor\:"Cursor"
opencode\:"OpenCode"
copilot\:"GitHub Copilot CLI"))' \
&& ret=0
;;
(uninstall)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'()--all[All agents that are used here]' \
'-n[Only show what would be written]' \
'--dry-run[Only show what would be written]' \
'--project[Take them out of the settings of this project instead of your own]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::agents -- The agents:((claude\:"Claude Code"
codex\:"Codex CLI"
gemini\:"Gemini CLI"
cursor\:"Cursor"
opencode\:"OpenCode"
copilot\:"GitHub Copilot CLI"))' \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--fix[Connect the agents that are used here and are not connected]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--read-only[Offer only tools that change nothing]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(hook)
_arguments "${_arguments_options[@]}" : \
'()--shell=[Nothing was said\: the agent is about to give this command line to a shell]:COMMAND:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--patient[Nobody waits for this\: take whatever time it needs]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':agent -- The agent that calls:((claude\:"Claude Code"
codex\:"Codex CLI"
gemini\:"Gemini CLI"
cursor\:"Cursor"
opencode\:"OpenCode"
copilot\:"GitHub Copilot CLI"))' \
'::event -- The event, for agents that do not name it in what they say:_default' \
&& ret=0
;;
(statusline)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--keep[Keep the temporary directory, to look around in it]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(conformance)
_arguments "${_arguments_options[@]}" : \
'()--snapshot=[The shell command that captures; {workspace} and {store} stand for directories, and it starts in the workspace]:COMMAND:_default' \
'--restore=[The shell command that brings everything back]:COMMAND:_default' \
'*--only=[Only properties or groups of them whose name holds this text]:TEXT:_default' \
'--place=[Make the workspaces beneath DIR, for instance on another filesystem]:DIR:_files' \
'(--snapshot)--backend=[Try belay itself with this backend; with btrfs and zfs each workspace is made a subvolume or a data set]:NAME:_default' \
'--timeout=[How long each command of the tool may take]:SECONDS:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::tools -- Names of known tools, or a program that is called with `snapshot` or `restore`, the workspace and the store:_default' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(version)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(answer)
_arguments "${_arguments_options[@]}" : \
'--run=[The run that it is in]:RUN:_default' \
'--cwd=[Where it is]:DIR:_files' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--coloured[Whether its terminal has colours]' \
'--pipe[Whether it wants to talk, not an answer]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- What it typed after `belay`:_default' \
&& ret=0
;;
(reside)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--begin[Start another process in a session of its own that does it]' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':workspace -- The workspace:_default' \
&& ret=0
;;
(supervise)
_arguments "${_arguments_options[@]}" : \
'--channel=[The descriptor of the connection to whoever started it]:FD:_default' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':run -- The run:_default' \
&& ret=0
;;
(util)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_belay__subcmd__util_commands" \
"*::: :->util" \
&& ret=0

    case $state in
    (util)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-util-command-$line[1]:"
        case $line[1] in
            (man)
_arguments "${_arguments_options[@]}" : \
'--dir=[The directory to write them to]:DIR:_files' \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(markdown)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'-C+[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--directory=[Act on the workspace that holds DIR instead of the current directory]:DIR:_files' \
'--fork=[Act on this fork of the workspace instead]:NAME:_default' \
'--color=[When to use colour\: auto, always or never; auto is on a terminal unless NO_COLOR is set]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON\: one document, or one object a line for lists that can be long]' \
'-q[Say nothing but what was asked for, warnings and errors]' \
'--quiet[Say nothing but what was asked for, warnings and errors]' \
'--yes-really[Allow your home directory or \`/\` as a workspace]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__util__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-util-help-command-$line[1]:"
        case $line[1] in
            (man)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(markdown)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(watch)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(attach)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(stop)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(logs)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(runs)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(log)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sql)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(audit)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__audit_commands" \
"*::: :->audit" \
&& ret=0

    case $state in
    (audit)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-audit-command-$line[1]:"
        case $line[1] in
            (verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(snapshot)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(snapshots)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__snapshots_commands" \
"*::: :->snapshots" \
&& ret=0

    case $state in
    (snapshots)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-snapshots-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(delete)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(review)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(discard)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(fork)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(forks)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__forks_commands" \
"*::: :->forks" \
&& ret=0

    case $state in
    (forks)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-forks-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(pick)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(redo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(history)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(changes)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(blame)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(bisect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(cat)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(ls)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(find)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(du)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(gc)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(forget)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(workspaces)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__workspaces_commands" \
"*::: :->workspaces" \
&& ret=0

    case $state in
    (workspaces)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-workspaces-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rm)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(profile)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__profile_commands" \
"*::: :->profile" \
&& ret=0

    case $state in
    (profile)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-profile-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(why)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-config-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(set)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(unset)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(trust)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(install)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(uninstall)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(hook)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(statusline)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(conformance)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(version)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(answer)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reside)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(supervise)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(util)
_arguments "${_arguments_options[@]}" : \
":: :_belay__subcmd__help__subcmd__util_commands" \
"*::: :->util" \
&& ret=0

    case $state in
    (util)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:belay-help-util-command-$line[1]:"
        case $line[1] in
            (man)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(markdown)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_belay_commands] )) ||
_belay_commands() {
    local commands; commands=(
'run:Run a command, and keep the way back' \
'watch:Watch workspaces, with snapshots at the right moments' \
'attach:Come back to a run that goes on by itself' \
'stop:End a run, with everything that it started' \
'logs:Show what a run'\''s terminal showed' \
'runs:List the runs of the workspace, oldest first' \
'show:Show one run\: what protected it, what it changed, its snapshots, and how to take it back' \
'log:Show what a run did\: its commands, the files they changed, and the snapshots' \
'sql:Ask the record of a run in SQL, without being able to change it' \
'audit:Check that the record of a run is what was written, or export it for others to check' \
'snapshot:Take a snapshot of the workspace' \
'snapshots:List, prune or delete snapshots' \
'status:Show the last snapshot, what changed since, and what is not protected' \
'diff:Show what changed between two snapshots, or since one' \
'rollback:Take the workspace back to a snapshot' \
'review:Show what an ephemeral run wrote, and apply all, some or none of it' \
'discard:Discard what an ephemeral run wrote' \
'fork:Make copies of the workspace as it is, for agents that work side by side' \
'forks:List the forks of the workspace, or remove one' \
'compare:Show what differs between two forks, or between the workspace and a fork' \
'pick:Bring what a fork changed into the workspace' \
'undo:Take back the last rollback, or one command or turn and nothing else' \
'redo:Take back the last undo' \
'restore:Bring back files or directories from a snapshot' \
'history:Show in which snapshots a file or directory is new, modified or deleted' \
'changes:Show which files changed, and which command did it' \
'blame:Show which command last changed a file, and each of its lines' \
'bisect:Find the snapshot, and the command, that broke something' \
'cat:Print a file as it is in a snapshot' \
'ls:List what a snapshot holds, and what it lacks' \
'find:Find the snapshots that hold a path' \
'du:Show how much space the snapshots take' \
'gc:Give back the space of what no snapshot needs any more' \
'verify:Check that every snapshot can be restored' \
'export:Write a snapshot as an archive, into a directory or as a commit' \
'import:Make a snapshot of an archive, of another directory or of a git ref' \
'forget:Erase files or directories from every snapshot and every record of the workspace' \
'workspaces:List the workspaces that belay knows, or forget one that is gone' \
'profile:Show what a confined command may reach' \
'why:Say whether a confined command can reach something, and which rule decides' \
'config:Show the configuration in force, or change your own' \
'trust:Trust the belay.toml (or .yaml) of the workspace as it is now' \
'init:Protect a project\: a first snapshot of it, kept outside of it' \
'install:Connect agents with belay\: their hooks, their tools and their status line' \
'uninstall:Take belay'\''s entries out of the settings of agents' \
'doctor:Prove each layer of protection on this machine, and say how to get what is missing' \
'mcp:Serve belay'\''s tools to an agent, as an MCP server on standard input and output' \
'hook:Take in an event of an agent, as JSON on standard input' \
'statusline:Print one line on how well this workspace is protected, for the status line of an agent' \
'demo:Watch a rogue agent wreck a small project, and belay take it back' \
'conformance:Find out what a snapshot tool keeps and what it loses' \
'completions:Print a completion script for your shell' \
'version:Print the version' \
'answer:Carry out what an agent asks for' \
'reside:See what changes in a workspace, and answer its agents'\'' hooks' \
'supervise:Hold tracer, journal and terminal of a run' \
'util:Generate man pages, completions and the reference' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay commands' commands "$@"
}
(( $+functions[_belay__subcmd__answer_commands] )) ||
_belay__subcmd__answer_commands() {
    local commands; commands=()
    _describe -t commands 'belay answer commands' commands "$@"
}
(( $+functions[_belay__subcmd__attach_commands] )) ||
_belay__subcmd__attach_commands() {
    local commands; commands=()
    _describe -t commands 'belay attach commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit_commands] )) ||
_belay__subcmd__audit_commands() {
    local commands; commands=(
'verify:Find every line of a record that was changed, removed, inserted or cut off' \
'export:Write the record of a run into one signed file that can be checked anywhere' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay audit commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__export_commands] )) ||
_belay__subcmd__audit__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'belay audit export commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__help_commands] )) ||
_belay__subcmd__audit__subcmd__help_commands() {
    local commands; commands=(
'verify:Find every line of a record that was changed, removed, inserted or cut off' \
'export:Write the record of a run into one signed file that can be checked anywhere' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay audit help commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__help__subcmd__export_commands] )) ||
_belay__subcmd__audit__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'belay audit help export commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__audit__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay audit help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__help__subcmd__verify_commands] )) ||
_belay__subcmd__audit__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'belay audit help verify commands' commands "$@"
}
(( $+functions[_belay__subcmd__audit__subcmd__verify_commands] )) ||
_belay__subcmd__audit__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'belay audit verify commands' commands "$@"
}
(( $+functions[_belay__subcmd__bisect_commands] )) ||
_belay__subcmd__bisect_commands() {
    local commands; commands=()
    _describe -t commands 'belay bisect commands' commands "$@"
}
(( $+functions[_belay__subcmd__blame_commands] )) ||
_belay__subcmd__blame_commands() {
    local commands; commands=()
    _describe -t commands 'belay blame commands' commands "$@"
}
(( $+functions[_belay__subcmd__cat_commands] )) ||
_belay__subcmd__cat_commands() {
    local commands; commands=()
    _describe -t commands 'belay cat commands' commands "$@"
}
(( $+functions[_belay__subcmd__changes_commands] )) ||
_belay__subcmd__changes_commands() {
    local commands; commands=()
    _describe -t commands 'belay changes commands' commands "$@"
}
(( $+functions[_belay__subcmd__compare_commands] )) ||
_belay__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'belay compare commands' commands "$@"
}
(( $+functions[_belay__subcmd__completions_commands] )) ||
_belay__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'belay completions commands' commands "$@"
}
(( $+functions[_belay__subcmd__config_commands] )) ||
_belay__subcmd__config_commands() {
    local commands; commands=(
'list:List every key with its value' \
'ls:List every key with its value' \
'get:Print the value of one key' \
'set:Set a key in your own configuration file' \
'unset:Take a key out of your own configuration file, so that its default counts again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay config commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__get_commands] )) ||
_belay__subcmd__config__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'belay config get commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help_commands] )) ||
_belay__subcmd__config__subcmd__help_commands() {
    local commands; commands=(
'list:List every key with its value' \
'get:Print the value of one key' \
'set:Set a key in your own configuration file' \
'unset:Take a key out of your own configuration file, so that its default counts again' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay config help commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help__subcmd__get_commands] )) ||
_belay__subcmd__config__subcmd__help__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'belay config help get commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__config__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay config help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help__subcmd__list_commands] )) ||
_belay__subcmd__config__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay config help list commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help__subcmd__set_commands] )) ||
_belay__subcmd__config__subcmd__help__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'belay config help set commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__help__subcmd__unset_commands] )) ||
_belay__subcmd__config__subcmd__help__subcmd__unset_commands() {
    local commands; commands=()
    _describe -t commands 'belay config help unset commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__list_commands] )) ||
_belay__subcmd__config__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay config list commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__set_commands] )) ||
_belay__subcmd__config__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'belay config set commands' commands "$@"
}
(( $+functions[_belay__subcmd__config__subcmd__unset_commands] )) ||
_belay__subcmd__config__subcmd__unset_commands() {
    local commands; commands=()
    _describe -t commands 'belay config unset commands' commands "$@"
}
(( $+functions[_belay__subcmd__conformance_commands] )) ||
_belay__subcmd__conformance_commands() {
    local commands; commands=()
    _describe -t commands 'belay conformance commands' commands "$@"
}
(( $+functions[_belay__subcmd__demo_commands] )) ||
_belay__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'belay demo commands' commands "$@"
}
(( $+functions[_belay__subcmd__diff_commands] )) ||
_belay__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'belay diff commands' commands "$@"
}
(( $+functions[_belay__subcmd__discard_commands] )) ||
_belay__subcmd__discard_commands() {
    local commands; commands=()
    _describe -t commands 'belay discard commands' commands "$@"
}
(( $+functions[_belay__subcmd__doctor_commands] )) ||
_belay__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'belay doctor commands' commands "$@"
}
(( $+functions[_belay__subcmd__du_commands] )) ||
_belay__subcmd__du_commands() {
    local commands; commands=()
    _describe -t commands 'belay du commands' commands "$@"
}
(( $+functions[_belay__subcmd__export_commands] )) ||
_belay__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'belay export commands' commands "$@"
}
(( $+functions[_belay__subcmd__find_commands] )) ||
_belay__subcmd__find_commands() {
    local commands; commands=()
    _describe -t commands 'belay find commands' commands "$@"
}
(( $+functions[_belay__subcmd__forget_commands] )) ||
_belay__subcmd__forget_commands() {
    local commands; commands=()
    _describe -t commands 'belay forget commands' commands "$@"
}
(( $+functions[_belay__subcmd__fork_commands] )) ||
_belay__subcmd__fork_commands() {
    local commands; commands=()
    _describe -t commands 'belay fork commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks_commands] )) ||
_belay__subcmd__forks_commands() {
    local commands; commands=(
'list:List them' \
'ls:List them' \
'rm:Remove forks; the last state of each is captured first, and a directory of its own stays' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay forks commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__help_commands] )) ||
_belay__subcmd__forks__subcmd__help_commands() {
    local commands; commands=(
'list:List them' \
'rm:Remove forks; the last state of each is captured first, and a directory of its own stays' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay forks help commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__forks__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay forks help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__help__subcmd__list_commands] )) ||
_belay__subcmd__forks__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay forks help list commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__help__subcmd__rm_commands] )) ||
_belay__subcmd__forks__subcmd__help__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay forks help rm commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__list_commands] )) ||
_belay__subcmd__forks__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay forks list commands' commands "$@"
}
(( $+functions[_belay__subcmd__forks__subcmd__rm_commands] )) ||
_belay__subcmd__forks__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay forks rm commands' commands "$@"
}
(( $+functions[_belay__subcmd__gc_commands] )) ||
_belay__subcmd__gc_commands() {
    local commands; commands=()
    _describe -t commands 'belay gc commands' commands "$@"
}
(( $+functions[_belay__subcmd__help_commands] )) ||
_belay__subcmd__help_commands() {
    local commands; commands=(
'run:Run a command, and keep the way back' \
'watch:Watch workspaces, with snapshots at the right moments' \
'attach:Come back to a run that goes on by itself' \
'stop:End a run, with everything that it started' \
'logs:Show what a run'\''s terminal showed' \
'runs:List the runs of the workspace, oldest first' \
'show:Show one run\: what protected it, what it changed, its snapshots, and how to take it back' \
'log:Show what a run did\: its commands, the files they changed, and the snapshots' \
'sql:Ask the record of a run in SQL, without being able to change it' \
'audit:Check that the record of a run is what was written, or export it for others to check' \
'snapshot:Take a snapshot of the workspace' \
'snapshots:List, prune or delete snapshots' \
'status:Show the last snapshot, what changed since, and what is not protected' \
'diff:Show what changed between two snapshots, or since one' \
'rollback:Take the workspace back to a snapshot' \
'review:Show what an ephemeral run wrote, and apply all, some or none of it' \
'discard:Discard what an ephemeral run wrote' \
'fork:Make copies of the workspace as it is, for agents that work side by side' \
'forks:List the forks of the workspace, or remove one' \
'compare:Show what differs between two forks, or between the workspace and a fork' \
'pick:Bring what a fork changed into the workspace' \
'undo:Take back the last rollback, or one command or turn and nothing else' \
'redo:Take back the last undo' \
'restore:Bring back files or directories from a snapshot' \
'history:Show in which snapshots a file or directory is new, modified or deleted' \
'changes:Show which files changed, and which command did it' \
'blame:Show which command last changed a file, and each of its lines' \
'bisect:Find the snapshot, and the command, that broke something' \
'cat:Print a file as it is in a snapshot' \
'ls:List what a snapshot holds, and what it lacks' \
'find:Find the snapshots that hold a path' \
'du:Show how much space the snapshots take' \
'gc:Give back the space of what no snapshot needs any more' \
'verify:Check that every snapshot can be restored' \
'export:Write a snapshot as an archive, into a directory or as a commit' \
'import:Make a snapshot of an archive, of another directory or of a git ref' \
'forget:Erase files or directories from every snapshot and every record of the workspace' \
'workspaces:List the workspaces that belay knows, or forget one that is gone' \
'profile:Show what a confined command may reach' \
'why:Say whether a confined command can reach something, and which rule decides' \
'config:Show the configuration in force, or change your own' \
'trust:Trust the belay.toml (or .yaml) of the workspace as it is now' \
'init:Protect a project\: a first snapshot of it, kept outside of it' \
'install:Connect agents with belay\: their hooks, their tools and their status line' \
'uninstall:Take belay'\''s entries out of the settings of agents' \
'doctor:Prove each layer of protection on this machine, and say how to get what is missing' \
'mcp:Serve belay'\''s tools to an agent, as an MCP server on standard input and output' \
'hook:Take in an event of an agent, as JSON on standard input' \
'statusline:Print one line on how well this workspace is protected, for the status line of an agent' \
'demo:Watch a rogue agent wreck a small project, and belay take it back' \
'conformance:Find out what a snapshot tool keeps and what it loses' \
'completions:Print a completion script for your shell' \
'version:Print the version' \
'answer:Carry out what an agent asks for' \
'reside:See what changes in a workspace, and answer its agents'\'' hooks' \
'supervise:Hold tracer, journal and terminal of a run' \
'util:Generate man pages, completions and the reference' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay help commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__answer_commands] )) ||
_belay__subcmd__help__subcmd__answer_commands() {
    local commands; commands=()
    _describe -t commands 'belay help answer commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__attach_commands] )) ||
_belay__subcmd__help__subcmd__attach_commands() {
    local commands; commands=()
    _describe -t commands 'belay help attach commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__audit_commands] )) ||
_belay__subcmd__help__subcmd__audit_commands() {
    local commands; commands=(
'verify:Find every line of a record that was changed, removed, inserted or cut off' \
'export:Write the record of a run into one signed file that can be checked anywhere' \
    )
    _describe -t commands 'belay help audit commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__audit__subcmd__export_commands] )) ||
_belay__subcmd__help__subcmd__audit__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'belay help audit export commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__audit__subcmd__verify_commands] )) ||
_belay__subcmd__help__subcmd__audit__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'belay help audit verify commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__bisect_commands] )) ||
_belay__subcmd__help__subcmd__bisect_commands() {
    local commands; commands=()
    _describe -t commands 'belay help bisect commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__blame_commands] )) ||
_belay__subcmd__help__subcmd__blame_commands() {
    local commands; commands=()
    _describe -t commands 'belay help blame commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__cat_commands] )) ||
_belay__subcmd__help__subcmd__cat_commands() {
    local commands; commands=()
    _describe -t commands 'belay help cat commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__changes_commands] )) ||
_belay__subcmd__help__subcmd__changes_commands() {
    local commands; commands=()
    _describe -t commands 'belay help changes commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__compare_commands] )) ||
_belay__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'belay help compare commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__completions_commands] )) ||
_belay__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'belay help completions commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__config_commands] )) ||
_belay__subcmd__help__subcmd__config_commands() {
    local commands; commands=(
'list:List every key with its value' \
'get:Print the value of one key' \
'set:Set a key in your own configuration file' \
'unset:Take a key out of your own configuration file, so that its default counts again' \
    )
    _describe -t commands 'belay help config commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__config__subcmd__get_commands] )) ||
_belay__subcmd__help__subcmd__config__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'belay help config get commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__config__subcmd__list_commands] )) ||
_belay__subcmd__help__subcmd__config__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay help config list commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__config__subcmd__set_commands] )) ||
_belay__subcmd__help__subcmd__config__subcmd__set_commands() {
    local commands; commands=()
    _describe -t commands 'belay help config set commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__config__subcmd__unset_commands] )) ||
_belay__subcmd__help__subcmd__config__subcmd__unset_commands() {
    local commands; commands=()
    _describe -t commands 'belay help config unset commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__conformance_commands] )) ||
_belay__subcmd__help__subcmd__conformance_commands() {
    local commands; commands=()
    _describe -t commands 'belay help conformance commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__demo_commands] )) ||
_belay__subcmd__help__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'belay help demo commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__diff_commands] )) ||
_belay__subcmd__help__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'belay help diff commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__discard_commands] )) ||
_belay__subcmd__help__subcmd__discard_commands() {
    local commands; commands=()
    _describe -t commands 'belay help discard commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__doctor_commands] )) ||
_belay__subcmd__help__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'belay help doctor commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__du_commands] )) ||
_belay__subcmd__help__subcmd__du_commands() {
    local commands; commands=()
    _describe -t commands 'belay help du commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__export_commands] )) ||
_belay__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'belay help export commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__find_commands] )) ||
_belay__subcmd__help__subcmd__find_commands() {
    local commands; commands=()
    _describe -t commands 'belay help find commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__forget_commands] )) ||
_belay__subcmd__help__subcmd__forget_commands() {
    local commands; commands=()
    _describe -t commands 'belay help forget commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__fork_commands] )) ||
_belay__subcmd__help__subcmd__fork_commands() {
    local commands; commands=()
    _describe -t commands 'belay help fork commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__forks_commands] )) ||
_belay__subcmd__help__subcmd__forks_commands() {
    local commands; commands=(
'list:List them' \
'rm:Remove forks; the last state of each is captured first, and a directory of its own stays' \
    )
    _describe -t commands 'belay help forks commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__forks__subcmd__list_commands] )) ||
_belay__subcmd__help__subcmd__forks__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay help forks list commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__forks__subcmd__rm_commands] )) ||
_belay__subcmd__help__subcmd__forks__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay help forks rm commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__gc_commands] )) ||
_belay__subcmd__help__subcmd__gc_commands() {
    local commands; commands=()
    _describe -t commands 'belay help gc commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__history_commands] )) ||
_belay__subcmd__help__subcmd__history_commands() {
    local commands; commands=()
    _describe -t commands 'belay help history commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__hook_commands] )) ||
_belay__subcmd__help__subcmd__hook_commands() {
    local commands; commands=()
    _describe -t commands 'belay help hook commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__import_commands] )) ||
_belay__subcmd__help__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'belay help import commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__init_commands] )) ||
_belay__subcmd__help__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'belay help init commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__install_commands] )) ||
_belay__subcmd__help__subcmd__install_commands() {
    local commands; commands=()
    _describe -t commands 'belay help install commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__log_commands] )) ||
_belay__subcmd__help__subcmd__log_commands() {
    local commands; commands=()
    _describe -t commands 'belay help log commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__logs_commands] )) ||
_belay__subcmd__help__subcmd__logs_commands() {
    local commands; commands=()
    _describe -t commands 'belay help logs commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__ls_commands] )) ||
_belay__subcmd__help__subcmd__ls_commands() {
    local commands; commands=()
    _describe -t commands 'belay help ls commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__mcp_commands] )) ||
_belay__subcmd__help__subcmd__mcp_commands() {
    local commands; commands=()
    _describe -t commands 'belay help mcp commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__pick_commands] )) ||
_belay__subcmd__help__subcmd__pick_commands() {
    local commands; commands=()
    _describe -t commands 'belay help pick commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__profile_commands] )) ||
_belay__subcmd__help__subcmd__profile_commands() {
    local commands; commands=(
'list:List every profile' \
'show:Show a profile with all that it inherits' \
'check:Check a profile'\''s file without using it' \
    )
    _describe -t commands 'belay help profile commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__profile__subcmd__check_commands] )) ||
_belay__subcmd__help__subcmd__profile__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'belay help profile check commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__profile__subcmd__list_commands] )) ||
_belay__subcmd__help__subcmd__profile__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay help profile list commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__profile__subcmd__show_commands] )) ||
_belay__subcmd__help__subcmd__profile__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'belay help profile show commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__redo_commands] )) ||
_belay__subcmd__help__subcmd__redo_commands() {
    local commands; commands=()
    _describe -t commands 'belay help redo commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__reside_commands] )) ||
_belay__subcmd__help__subcmd__reside_commands() {
    local commands; commands=()
    _describe -t commands 'belay help reside commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__restore_commands] )) ||
_belay__subcmd__help__subcmd__restore_commands() {
    local commands; commands=()
    _describe -t commands 'belay help restore commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__review_commands] )) ||
_belay__subcmd__help__subcmd__review_commands() {
    local commands; commands=()
    _describe -t commands 'belay help review commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__rollback_commands] )) ||
_belay__subcmd__help__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'belay help rollback commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__run_commands] )) ||
_belay__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'belay help run commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__runs_commands] )) ||
_belay__subcmd__help__subcmd__runs_commands() {
    local commands; commands=()
    _describe -t commands 'belay help runs commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__show_commands] )) ||
_belay__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'belay help show commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__snapshot_commands] )) ||
_belay__subcmd__help__subcmd__snapshot_commands() {
    local commands; commands=()
    _describe -t commands 'belay help snapshot commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__snapshots_commands] )) ||
_belay__subcmd__help__subcmd__snapshots_commands() {
    local commands; commands=(
'list:List the snapshots of the workspace, oldest first' \
'prune:Delete old snapshots by a rule, and give the space back' \
'delete:Delete snapshots by name' \
    )
    _describe -t commands 'belay help snapshots commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__snapshots__subcmd__delete_commands] )) ||
_belay__subcmd__help__subcmd__snapshots__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'belay help snapshots delete commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__snapshots__subcmd__list_commands] )) ||
_belay__subcmd__help__subcmd__snapshots__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay help snapshots list commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__snapshots__subcmd__prune_commands] )) ||
_belay__subcmd__help__subcmd__snapshots__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'belay help snapshots prune commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__sql_commands] )) ||
_belay__subcmd__help__subcmd__sql_commands() {
    local commands; commands=()
    _describe -t commands 'belay help sql commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__status_commands] )) ||
_belay__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'belay help status commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__statusline_commands] )) ||
_belay__subcmd__help__subcmd__statusline_commands() {
    local commands; commands=()
    _describe -t commands 'belay help statusline commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__stop_commands] )) ||
_belay__subcmd__help__subcmd__stop_commands() {
    local commands; commands=()
    _describe -t commands 'belay help stop commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__supervise_commands] )) ||
_belay__subcmd__help__subcmd__supervise_commands() {
    local commands; commands=()
    _describe -t commands 'belay help supervise commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__trust_commands] )) ||
_belay__subcmd__help__subcmd__trust_commands() {
    local commands; commands=()
    _describe -t commands 'belay help trust commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__undo_commands] )) ||
_belay__subcmd__help__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'belay help undo commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__uninstall_commands] )) ||
_belay__subcmd__help__subcmd__uninstall_commands() {
    local commands; commands=()
    _describe -t commands 'belay help uninstall commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__util_commands] )) ||
_belay__subcmd__help__subcmd__util_commands() {
    local commands; commands=(
'man:Write a man page for belay and for each command' \
'markdown:Print the reference of all commands as Markdown' \
'completions:Print a completion script' \
    )
    _describe -t commands 'belay help util commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__util__subcmd__completions_commands] )) ||
_belay__subcmd__help__subcmd__util__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'belay help util completions commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__util__subcmd__man_commands] )) ||
_belay__subcmd__help__subcmd__util__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'belay help util man commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__util__subcmd__markdown_commands] )) ||
_belay__subcmd__help__subcmd__util__subcmd__markdown_commands() {
    local commands; commands=()
    _describe -t commands 'belay help util markdown commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__verify_commands] )) ||
_belay__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'belay help verify commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__version_commands] )) ||
_belay__subcmd__help__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'belay help version commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__watch_commands] )) ||
_belay__subcmd__help__subcmd__watch_commands() {
    local commands; commands=()
    _describe -t commands 'belay help watch commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__why_commands] )) ||
_belay__subcmd__help__subcmd__why_commands() {
    local commands; commands=()
    _describe -t commands 'belay help why commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__workspaces_commands] )) ||
_belay__subcmd__help__subcmd__workspaces_commands() {
    local commands; commands=(
'list:List them' \
'rm:Forget workspaces that are gone\: their snapshots and the records of their runs, for good' \
    )
    _describe -t commands 'belay help workspaces commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__workspaces__subcmd__list_commands] )) ||
_belay__subcmd__help__subcmd__workspaces__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay help workspaces list commands' commands "$@"
}
(( $+functions[_belay__subcmd__help__subcmd__workspaces__subcmd__rm_commands] )) ||
_belay__subcmd__help__subcmd__workspaces__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay help workspaces rm commands' commands "$@"
}
(( $+functions[_belay__subcmd__history_commands] )) ||
_belay__subcmd__history_commands() {
    local commands; commands=()
    _describe -t commands 'belay history commands' commands "$@"
}
(( $+functions[_belay__subcmd__hook_commands] )) ||
_belay__subcmd__hook_commands() {
    local commands; commands=()
    _describe -t commands 'belay hook commands' commands "$@"
}
(( $+functions[_belay__subcmd__import_commands] )) ||
_belay__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'belay import commands' commands "$@"
}
(( $+functions[_belay__subcmd__init_commands] )) ||
_belay__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'belay init commands' commands "$@"
}
(( $+functions[_belay__subcmd__install_commands] )) ||
_belay__subcmd__install_commands() {
    local commands; commands=()
    _describe -t commands 'belay install commands' commands "$@"
}
(( $+functions[_belay__subcmd__log_commands] )) ||
_belay__subcmd__log_commands() {
    local commands; commands=()
    _describe -t commands 'belay log commands' commands "$@"
}
(( $+functions[_belay__subcmd__logs_commands] )) ||
_belay__subcmd__logs_commands() {
    local commands; commands=()
    _describe -t commands 'belay logs commands' commands "$@"
}
(( $+functions[_belay__subcmd__ls_commands] )) ||
_belay__subcmd__ls_commands() {
    local commands; commands=()
    _describe -t commands 'belay ls commands' commands "$@"
}
(( $+functions[_belay__subcmd__mcp_commands] )) ||
_belay__subcmd__mcp_commands() {
    local commands; commands=()
    _describe -t commands 'belay mcp commands' commands "$@"
}
(( $+functions[_belay__subcmd__pick_commands] )) ||
_belay__subcmd__pick_commands() {
    local commands; commands=()
    _describe -t commands 'belay pick commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile_commands] )) ||
_belay__subcmd__profile_commands() {
    local commands; commands=(
'list:List every profile' \
'ls:List every profile' \
'show:Show a profile with all that it inherits' \
'check:Check a profile'\''s file without using it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay profile commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__check_commands] )) ||
_belay__subcmd__profile__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile check commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__help_commands] )) ||
_belay__subcmd__profile__subcmd__help_commands() {
    local commands; commands=(
'list:List every profile' \
'show:Show a profile with all that it inherits' \
'check:Check a profile'\''s file without using it' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay profile help commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__help__subcmd__check_commands] )) ||
_belay__subcmd__profile__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile help check commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__profile__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__help__subcmd__list_commands] )) ||
_belay__subcmd__profile__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile help list commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__help__subcmd__show_commands] )) ||
_belay__subcmd__profile__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile help show commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__list_commands] )) ||
_belay__subcmd__profile__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile list commands' commands "$@"
}
(( $+functions[_belay__subcmd__profile__subcmd__show_commands] )) ||
_belay__subcmd__profile__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'belay profile show commands' commands "$@"
}
(( $+functions[_belay__subcmd__redo_commands] )) ||
_belay__subcmd__redo_commands() {
    local commands; commands=()
    _describe -t commands 'belay redo commands' commands "$@"
}
(( $+functions[_belay__subcmd__reside_commands] )) ||
_belay__subcmd__reside_commands() {
    local commands; commands=()
    _describe -t commands 'belay reside commands' commands "$@"
}
(( $+functions[_belay__subcmd__restore_commands] )) ||
_belay__subcmd__restore_commands() {
    local commands; commands=()
    _describe -t commands 'belay restore commands' commands "$@"
}
(( $+functions[_belay__subcmd__review_commands] )) ||
_belay__subcmd__review_commands() {
    local commands; commands=()
    _describe -t commands 'belay review commands' commands "$@"
}
(( $+functions[_belay__subcmd__rollback_commands] )) ||
_belay__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'belay rollback commands' commands "$@"
}
(( $+functions[_belay__subcmd__run_commands] )) ||
_belay__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'belay run commands' commands "$@"
}
(( $+functions[_belay__subcmd__runs_commands] )) ||
_belay__subcmd__runs_commands() {
    local commands; commands=()
    _describe -t commands 'belay runs commands' commands "$@"
}
(( $+functions[_belay__subcmd__show_commands] )) ||
_belay__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'belay show commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshot_commands] )) ||
_belay__subcmd__snapshot_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshot commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots_commands] )) ||
_belay__subcmd__snapshots_commands() {
    local commands; commands=(
'list:List the snapshots of the workspace, oldest first' \
'ls:List the snapshots of the workspace, oldest first' \
'prune:Delete old snapshots by a rule, and give the space back' \
'delete:Delete snapshots by name' \
'rm:Delete snapshots by name' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay snapshots commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__delete_commands] )) ||
_belay__subcmd__snapshots__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots delete commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__help_commands] )) ||
_belay__subcmd__snapshots__subcmd__help_commands() {
    local commands; commands=(
'list:List the snapshots of the workspace, oldest first' \
'prune:Delete old snapshots by a rule, and give the space back' \
'delete:Delete snapshots by name' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay snapshots help commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__help__subcmd__delete_commands] )) ||
_belay__subcmd__snapshots__subcmd__help__subcmd__delete_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots help delete commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__snapshots__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__help__subcmd__list_commands] )) ||
_belay__subcmd__snapshots__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots help list commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__help__subcmd__prune_commands] )) ||
_belay__subcmd__snapshots__subcmd__help__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots help prune commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__list_commands] )) ||
_belay__subcmd__snapshots__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots list commands' commands "$@"
}
(( $+functions[_belay__subcmd__snapshots__subcmd__prune_commands] )) ||
_belay__subcmd__snapshots__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'belay snapshots prune commands' commands "$@"
}
(( $+functions[_belay__subcmd__sql_commands] )) ||
_belay__subcmd__sql_commands() {
    local commands; commands=()
    _describe -t commands 'belay sql commands' commands "$@"
}
(( $+functions[_belay__subcmd__status_commands] )) ||
_belay__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'belay status commands' commands "$@"
}
(( $+functions[_belay__subcmd__statusline_commands] )) ||
_belay__subcmd__statusline_commands() {
    local commands; commands=()
    _describe -t commands 'belay statusline commands' commands "$@"
}
(( $+functions[_belay__subcmd__stop_commands] )) ||
_belay__subcmd__stop_commands() {
    local commands; commands=()
    _describe -t commands 'belay stop commands' commands "$@"
}
(( $+functions[_belay__subcmd__supervise_commands] )) ||
_belay__subcmd__supervise_commands() {
    local commands; commands=()
    _describe -t commands 'belay supervise commands' commands "$@"
}
(( $+functions[_belay__subcmd__trust_commands] )) ||
_belay__subcmd__trust_commands() {
    local commands; commands=()
    _describe -t commands 'belay trust commands' commands "$@"
}
(( $+functions[_belay__subcmd__undo_commands] )) ||
_belay__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'belay undo commands' commands "$@"
}
(( $+functions[_belay__subcmd__uninstall_commands] )) ||
_belay__subcmd__uninstall_commands() {
    local commands; commands=()
    _describe -t commands 'belay uninstall commands' commands "$@"
}
(( $+functions[_belay__subcmd__util_commands] )) ||
_belay__subcmd__util_commands() {
    local commands; commands=(
'man:Write a man page for belay and for each command' \
'markdown:Print the reference of all commands as Markdown' \
'completions:Print a completion script' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay util commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__completions_commands] )) ||
_belay__subcmd__util__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'belay util completions commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__help_commands] )) ||
_belay__subcmd__util__subcmd__help_commands() {
    local commands; commands=(
'man:Write a man page for belay and for each command' \
'markdown:Print the reference of all commands as Markdown' \
'completions:Print a completion script' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay util help commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__help__subcmd__completions_commands] )) ||
_belay__subcmd__util__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'belay util help completions commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__util__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay util help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__help__subcmd__man_commands] )) ||
_belay__subcmd__util__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'belay util help man commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__help__subcmd__markdown_commands] )) ||
_belay__subcmd__util__subcmd__help__subcmd__markdown_commands() {
    local commands; commands=()
    _describe -t commands 'belay util help markdown commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__man_commands] )) ||
_belay__subcmd__util__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'belay util man commands' commands "$@"
}
(( $+functions[_belay__subcmd__util__subcmd__markdown_commands] )) ||
_belay__subcmd__util__subcmd__markdown_commands() {
    local commands; commands=()
    _describe -t commands 'belay util markdown commands' commands "$@"
}
(( $+functions[_belay__subcmd__verify_commands] )) ||
_belay__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'belay verify commands' commands "$@"
}
(( $+functions[_belay__subcmd__version_commands] )) ||
_belay__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'belay version commands' commands "$@"
}
(( $+functions[_belay__subcmd__watch_commands] )) ||
_belay__subcmd__watch_commands() {
    local commands; commands=()
    _describe -t commands 'belay watch commands' commands "$@"
}
(( $+functions[_belay__subcmd__why_commands] )) ||
_belay__subcmd__why_commands() {
    local commands; commands=()
    _describe -t commands 'belay why commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces_commands] )) ||
_belay__subcmd__workspaces_commands() {
    local commands; commands=(
'list:List them' \
'ls:List them' \
'rm:Forget workspaces that are gone\: their snapshots and the records of their runs, for good' \
'forget:Forget workspaces that are gone\: their snapshots and the records of their runs, for good' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay workspaces commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__help_commands] )) ||
_belay__subcmd__workspaces__subcmd__help_commands() {
    local commands; commands=(
'list:List them' \
'rm:Forget workspaces that are gone\: their snapshots and the records of their runs, for good' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'belay workspaces help commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__help__subcmd__help_commands] )) ||
_belay__subcmd__workspaces__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'belay workspaces help help commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__help__subcmd__list_commands] )) ||
_belay__subcmd__workspaces__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay workspaces help list commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__help__subcmd__rm_commands] )) ||
_belay__subcmd__workspaces__subcmd__help__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay workspaces help rm commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__list_commands] )) ||
_belay__subcmd__workspaces__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'belay workspaces list commands' commands "$@"
}
(( $+functions[_belay__subcmd__workspaces__subcmd__rm_commands] )) ||
_belay__subcmd__workspaces__subcmd__rm_commands() {
    local commands; commands=()
    _describe -t commands 'belay workspaces rm commands' commands "$@"
}

if [ "$funcstack[1]" = "_belay" ]; then
    _belay "$@"
else
    compdef _belay belay
fi
