# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_belay_global_optspecs
    string join \n C/directory= fork= json color= q/quiet yes-really h/help V/version
end

function __fish_belay_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_belay_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_belay_using_subcommand
    set -l cmd (__fish_belay_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c belay -n "__fish_belay_needs_command" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_needs_command" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_needs_command" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_needs_command" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_needs_command" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_needs_command" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_needs_command" -s V -l version -d 'Print version'
complete -c belay -n "__fish_belay_needs_command" -f -a "run" -d 'Run a command, and keep the way back'
complete -c belay -n "__fish_belay_needs_command" -f -a "watch" -d 'Watch workspaces, with snapshots at the right moments'
complete -c belay -n "__fish_belay_needs_command" -f -a "attach" -d 'Come back to a run that goes on by itself'
complete -c belay -n "__fish_belay_needs_command" -f -a "stop" -d 'End a run, with everything that it started'
complete -c belay -n "__fish_belay_needs_command" -f -a "logs" -d 'Show what a run\'s terminal showed'
complete -c belay -n "__fish_belay_needs_command" -f -a "runs" -d 'List the runs of the workspace, oldest first'
complete -c belay -n "__fish_belay_needs_command" -f -a "show" -d 'Show one run: what protected it, what it changed, its snapshots, and how to take it back'
complete -c belay -n "__fish_belay_needs_command" -f -a "log" -d 'Show what a run did: its commands, the files they changed, and the snapshots'
complete -c belay -n "__fish_belay_needs_command" -f -a "sql" -d 'Ask the record of a run in SQL, without being able to change it'
complete -c belay -n "__fish_belay_needs_command" -f -a "audit" -d 'Check that the record of a run is what was written, or export it for others to check'
complete -c belay -n "__fish_belay_needs_command" -f -a "snapshot" -d 'Take a snapshot of the workspace'
complete -c belay -n "__fish_belay_needs_command" -f -a "snapshots" -d 'List, prune or delete snapshots'
complete -c belay -n "__fish_belay_needs_command" -f -a "status" -d 'Show the last snapshot, what changed since, and what is not protected'
complete -c belay -n "__fish_belay_needs_command" -f -a "diff" -d 'Show what changed between two snapshots, or since one'
complete -c belay -n "__fish_belay_needs_command" -f -a "rollback" -d 'Take the workspace back to a snapshot'
complete -c belay -n "__fish_belay_needs_command" -f -a "review" -d 'Show what an ephemeral run wrote, and apply all, some or none of it'
complete -c belay -n "__fish_belay_needs_command" -f -a "discard" -d 'Discard what an ephemeral run wrote'
complete -c belay -n "__fish_belay_needs_command" -f -a "fork" -d 'Make copies of the workspace as it is, for agents that work side by side'
complete -c belay -n "__fish_belay_needs_command" -f -a "forks" -d 'List the forks of the workspace, or remove one'
complete -c belay -n "__fish_belay_needs_command" -f -a "compare" -d 'Show what differs between two forks, or between the workspace and a fork'
complete -c belay -n "__fish_belay_needs_command" -f -a "pick" -d 'Bring what a fork changed into the workspace'
complete -c belay -n "__fish_belay_needs_command" -f -a "undo" -d 'Take back the last rollback, or one command or turn and nothing else'
complete -c belay -n "__fish_belay_needs_command" -f -a "redo" -d 'Take back the last undo'
complete -c belay -n "__fish_belay_needs_command" -f -a "restore" -d 'Bring back files or directories from a snapshot'
complete -c belay -n "__fish_belay_needs_command" -f -a "history" -d 'Show in which snapshots a file or directory is new, modified or deleted'
complete -c belay -n "__fish_belay_needs_command" -f -a "changes" -d 'Show which files changed, and which command did it'
complete -c belay -n "__fish_belay_needs_command" -f -a "blame" -d 'Show which command last changed a file, and each of its lines'
complete -c belay -n "__fish_belay_needs_command" -f -a "bisect" -d 'Find the snapshot, and the command, that broke something'
complete -c belay -n "__fish_belay_needs_command" -f -a "cat" -d 'Print a file as it is in a snapshot'
complete -c belay -n "__fish_belay_needs_command" -f -a "ls" -d 'List what a snapshot holds, and what it lacks'
complete -c belay -n "__fish_belay_needs_command" -f -a "find" -d 'Find the snapshots that hold a path'
complete -c belay -n "__fish_belay_needs_command" -f -a "du" -d 'Show how much space the snapshots take'
complete -c belay -n "__fish_belay_needs_command" -f -a "gc" -d 'Give back the space of what no snapshot needs any more'
complete -c belay -n "__fish_belay_needs_command" -f -a "verify" -d 'Check that every snapshot can be restored'
complete -c belay -n "__fish_belay_needs_command" -f -a "export" -d 'Write a snapshot as an archive, into a directory or as a commit'
complete -c belay -n "__fish_belay_needs_command" -f -a "import" -d 'Make a snapshot of an archive, of another directory or of a git ref'
complete -c belay -n "__fish_belay_needs_command" -f -a "forget" -d 'Erase files or directories from every snapshot and every record of the workspace'
complete -c belay -n "__fish_belay_needs_command" -f -a "workspaces" -d 'List the workspaces that belay knows, or forget one that is gone'
complete -c belay -n "__fish_belay_needs_command" -f -a "profile" -d 'Show what a confined command may reach'
complete -c belay -n "__fish_belay_needs_command" -f -a "why" -d 'Say whether a confined command can reach something, and which rule decides'
complete -c belay -n "__fish_belay_needs_command" -f -a "config" -d 'Show the configuration in force, or change your own'
complete -c belay -n "__fish_belay_needs_command" -f -a "trust" -d 'Trust the belay.toml (or .yaml) of the workspace as it is now'
complete -c belay -n "__fish_belay_needs_command" -f -a "init" -d 'Protect a project: a first snapshot of it, kept outside of it'
complete -c belay -n "__fish_belay_needs_command" -f -a "install" -d 'Connect agents with belay: their hooks, their tools and their status line'
complete -c belay -n "__fish_belay_needs_command" -f -a "uninstall" -d 'Take belay\'s entries out of the settings of agents'
complete -c belay -n "__fish_belay_needs_command" -f -a "doctor" -d 'Prove each layer of protection on this machine, and say how to get what is missing'
complete -c belay -n "__fish_belay_needs_command" -f -a "mcp" -d 'Serve belay\'s tools to an agent, as an MCP server on standard input and output'
complete -c belay -n "__fish_belay_needs_command" -f -a "hook" -d 'Take in an event of an agent, as JSON on standard input'
complete -c belay -n "__fish_belay_needs_command" -f -a "statusline" -d 'Print one line on how well this workspace is protected, for the status line of an agent'
complete -c belay -n "__fish_belay_needs_command" -f -a "demo" -d 'Watch a rogue agent wreck a small project, and belay take it back'
complete -c belay -n "__fish_belay_needs_command" -f -a "conformance" -d 'Find out what a snapshot tool keeps and what it loses'
complete -c belay -n "__fish_belay_needs_command" -f -a "completions" -d 'Print a completion script for your shell'
complete -c belay -n "__fish_belay_needs_command" -f -a "version" -d 'Print the version'
complete -c belay -n "__fish_belay_needs_command" -f -a "answer" -d 'Carry out what an agent asks for'
complete -c belay -n "__fish_belay_needs_command" -f -a "reside" -d 'See what changes in a workspace, and answer its agents\' hooks'
complete -c belay -n "__fish_belay_needs_command" -f -a "supervise" -d 'Hold tracer, journal and terminal of a run'
complete -c belay -n "__fish_belay_needs_command" -f -a "util" -d 'Generate man pages, completions and the reference'
complete -c belay -n "__fish_belay_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand run" -s l -l label -d 'A name for the run' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l time -d 'Stop it after this time, such as 90s or 10m' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l memory -d 'Let it use no more memory than this, such as 2GiB' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l processes -d 'Let it have no more processes and threads than this' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l isolation -d 'What keeps the command in; without it, a jail if a flag below asks for one, else what isolation.engine says' -r -f -a "auto\t'The strongest that works'
jail\t'A jail, or no run at all'
none\t'Nothing'"
complete -c belay -n "__fish_belay_using_subcommand run" -l profile -d 'What a confined command may reach; without it, the profile that suits CMD' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l ro -d 'Let a confined command read this too' -r -F
complete -c belay -n "__fish_belay_using_subcommand run" -l rw -d 'Let a confined command write this too; what it changes there outside of the workspace cannot be taken back' -r -F
complete -c belay -n "__fish_belay_using_subcommand run" -l hide -d 'Hide this from a confined command' -r -F
complete -c belay -n "__fish_belay_using_subcommand run" -l backend -d 'Where the content of its snapshots is to lie; without it, where snapshots.backend says' -r
complete -c belay -n "__fish_belay_using_subcommand run" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand run" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand run" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand run" -s d -l detach -d 'Do not wait: the run goes on without this terminal'
complete -c belay -n "__fish_belay_using_subcommand run" -l ephemeral -d 'Keep what the command writes to the workspace apart, for `belay review`; in a jail or not at all'
complete -c belay -n "__fish_belay_using_subcommand run" -l denials -d 'Watch for paths that the jail refuses, even where every call must wait for that; root\'s runs always do'
complete -c belay -n "__fish_belay_using_subcommand run" -l here -d 'Make this very directory a workspace, even if it lies inside one'
complete -c belay -n "__fish_belay_using_subcommand run" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand run" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand run" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand watch" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand watch" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand watch" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand watch" -s d -l detach -d 'Do not wait: the watch goes on without this terminal'
complete -c belay -n "__fish_belay_using_subcommand watch" -l list -d 'List the watches that go on'
complete -c belay -n "__fish_belay_using_subcommand watch" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand watch" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand watch" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand attach" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand attach" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand attach" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand attach" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand attach" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand attach" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand stop" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand stop" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand stop" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand stop" -l now -d 'Kill at once'
complete -c belay -n "__fish_belay_using_subcommand stop" -l helper -d 'End the helper that answers the hooks of agents here'
complete -c belay -n "__fish_belay_using_subcommand stop" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand stop" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand stop" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand logs" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand logs" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand logs" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand logs" -s f -l follow -d 'Go on showing until the run ends'
complete -c belay -n "__fish_belay_using_subcommand logs" -l raw -d 'Show the bytes as they are, with everything that moves the cursor or asks the terminal for something'
complete -c belay -n "__fish_belay_using_subcommand logs" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand logs" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand logs" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand logs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand runs" -s n -l limit -d 'Show only the newest N' -r
complete -c belay -n "__fish_belay_using_subcommand runs" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand runs" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand runs" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand runs" -s a -l all -d 'List the runs of all workspaces'
complete -c belay -n "__fish_belay_using_subcommand runs" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand runs" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand runs" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand runs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand show" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand show" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand show" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand show" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand show" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand show" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand log" -l command -d 'Show only this command and what it started' -r
complete -c belay -n "__fish_belay_using_subcommand log" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand log" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand log" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand log" -s f -l follow -d 'Go on showing what happens until the run ends'
complete -c belay -n "__fish_belay_using_subcommand log" -l files -d 'Show every file of every command'
complete -c belay -n "__fish_belay_using_subcommand log" -l no-files -d 'Show no files'
complete -c belay -n "__fish_belay_using_subcommand log" -s a -l all -d 'Show every command, even those that repeat, and every file'
complete -c belay -n "__fish_belay_using_subcommand log" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand log" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand log" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand sql" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand sql" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand sql" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand sql" -l csv -d 'Print comma-separated values'
complete -c belay -n "__fish_belay_using_subcommand sql" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand sql" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand sql" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand sql" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -f -a "verify" -d 'Find every line of a record that was changed, removed, inserted or cut off'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -f -a "export" -d 'Write the record of a run into one signed file that can be checked anywhere'
complete -c belay -n "__fish_belay_using_subcommand audit; and not __fish_seen_subcommand_from verify export help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -l redact -d 'Leave out every event in whose JSON form this text occurs; the rest can still be checked' -r
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Find every line of a record that was changed, removed, inserted or cut off'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write the record of a run into one signed file that can be checked anywhere'
complete -c belay -n "__fish_belay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s l -l label -d 'A name for the snapshot, unique in the workspace' -r
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s d -l description -d 'A longer note' -r
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l prompt -d 'What the user asked for in that turn' -r
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l backend -d 'Where its content is to lie; without it, where snapshots.backend says' -r
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l hash -d 'The hash function of a store that does not exist yet' -r -f -a "blake3\t''
sha256\t''"
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l turn -d 'Mark the beginning of a turn of an agent, so that `belay undo @turn-N` can take it back'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s a -l all -d 'Capture everything, regenerable and excluded directories too'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l full -d 'Read every byte, instead of trusting that files whose times, size and inode are unchanged are the same'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l here -d 'Make this very directory a workspace, even if it lies inside one'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s n -l limit -d 'Show only the newest N' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s t -l type -d 'Show only snapshots of this type, such as manual, pre-run or safety' -r -f -a "pre-run\t''
git\t''
build\t''
idle\t''
auto\t''
manual\t''
turn\t''
tool\t''
safety\t''
final\t''"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s l -l long -d 'Show number, exact time, files, bytes and description too'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -l refs -d 'List the named states in the workspace\'s git repository (refs/sandbox/snapshots/) instead'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "list" -d 'List the snapshots of the workspace, oldest first'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "ls" -d 'List the snapshots of the workspace, oldest first'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "prune" -d 'Delete old snapshots by a rule, and give the space back'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "delete" -d 'Delete snapshots by name'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "rm" -d 'Delete snapshots by name'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and not __fish_seen_subcommand_from list ls prune delete rm help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s n -l limit -d 'Show only the newest N' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s t -l type -d 'Show only snapshots of this type, such as manual, pre-run or safety' -r -f -a "pre-run\t''
git\t''
build\t''
idle\t''
auto\t''
manual\t''
turn\t''
tool\t''
safety\t''
final\t''"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s l -l long -d 'Show number, exact time, files, bytes and description too'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -l refs -d 'List the named states in the workspace\'s git repository (refs/sandbox/snapshots/) instead'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s n -l limit -d 'Show only the newest N' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s t -l type -d 'Show only snapshots of this type, such as manual, pre-run or safety' -r -f -a "pre-run\t''
git\t''
build\t''
idle\t''
auto\t''
manual\t''
turn\t''
tool\t''
safety\t''
final\t''"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s l -l long -d 'Show number, exact time, files, bytes and description too'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -l refs -d 'List the named states in the workspace\'s git repository (refs/sandbox/snapshots/) instead'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l keep -d 'Keep the N newest, a pre-run one among them, and delete the rest' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l older-than -d 'Delete what is older than this, such as 7d or 36h' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l budget -d 'Delete until the store takes no more than this, such as 2GiB' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -s n -l dry-run -d 'Only show what would be deleted'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s f -l force -d 'Delete also what the next undo or redo needs, which can then not be done any more'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s n -l dry-run -d 'Only show what would be deleted'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s f -l force -d 'Delete also what the next undo or redo needs, which can then not be done any more'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s n -l dry-run -d 'Only show what would be deleted'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the snapshots of the workspace, oldest first'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Delete old snapshots by a rule, and give the space back'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete snapshots by name'
complete -c belay -n "__fish_belay_using_subcommand snapshots; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand status" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand status" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand status" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand status" -s a -l all -d 'Name every changed and every unprotected path, instead of the first few'
complete -c belay -n "__fish_belay_using_subcommand status" -s s -l short -d 'Only name what changed, a letter and a path a line'
complete -c belay -n "__fish_belay_using_subcommand status" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand status" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand status" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand diff" -s U -l unified -d 'Show N lines around each change' -r
complete -c belay -n "__fish_belay_using_subcommand diff" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand diff" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand diff" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand diff" -l stat -d 'Count changed lines instead of showing them'
complete -c belay -n "__fish_belay_using_subcommand diff" -l name-only -d 'Only name what changed'
complete -c belay -n "__fish_belay_using_subcommand diff" -l name-status -d 'Only name what changed, each with the letter that `belay status` gives it'
complete -c belay -n "__fish_belay_using_subcommand diff" -l all -d 'Show each file of a `.git` that came or went as a whole, too'
complete -c belay -n "__fish_belay_using_subcommand diff" -l exit-code -d 'Exit with 1 when something differs'
complete -c belay -n "__fish_belay_using_subcommand diff" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand diff" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand diff" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand rollback" -l to -d 'Write the snapshot into this new or empty directory instead, and leave the workspace alone' -r -F
complete -c belay -n "__fish_belay_using_subcommand rollback" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand rollback" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand rollback" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand rollback" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand rollback" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand rollback" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand rollback" -l skip-damaged -d 'Leave files as they are whose content is damaged in the store, and bring back the rest'
complete -c belay -n "__fish_belay_using_subcommand rollback" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand rollback" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand rollback" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand rollback" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand review" -l apply-hunk -d 'Apply hunks of a file by their numbers, such as src/main.rs:2 or src/main.rs:1,3' -r
complete -c belay -n "__fish_belay_using_subcommand review" -l run -d 'The run; by default the latest ephemeral one of this workspace that still waits for a review' -r
complete -c belay -n "__fish_belay_using_subcommand review" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand review" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand review" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand review" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand review" -l apply -d 'Apply it; on a terminal, after one question for all of it'
complete -c belay -n "__fish_belay_using_subcommand review" -l all -d 'Apply everything'
complete -c belay -n "__fish_belay_using_subcommand review" -l none -d 'Apply nothing, and discard what was written as `belay discard` does'
complete -c belay -n "__fish_belay_using_subcommand review" -s p -l patch -d 'Show every hunk with its number'
complete -c belay -n "__fish_belay_using_subcommand review" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand review" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand review" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand review" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand review" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand discard" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand discard" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand discard" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand discard" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand discard" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand discard" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand discard" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand discard" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand fork" -s n -l number -d 'Make so many, called NAME-1, NAME-2, …' -r
complete -c belay -n "__fish_belay_using_subcommand fork" -l to -d 'Make it a directory of its own, new or empty' -r -F
complete -c belay -n "__fish_belay_using_subcommand fork" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand fork" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand fork" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand fork" -s y -l yes -d 'Do not ask before a full copy'
complete -c belay -n "__fish_belay_using_subcommand fork" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand fork" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand fork" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand fork" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -f -a "ls" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -f -a "rm" -d 'Remove forks; the last state of each is captured first, and a directory of its own stays'
complete -c belay -n "__fish_belay_using_subcommand forks; and not __fish_seen_subcommand_from list ls rm help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from help" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Remove forks; the last state of each is captured first, and a directory of its own stays'
complete -c belay -n "__fish_belay_using_subcommand forks; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand compare" -s U -l unified -d 'Show N lines around each change' -r
complete -c belay -n "__fish_belay_using_subcommand compare" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand compare" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand compare" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand compare" -l stat -d 'Count changed lines instead of showing them'
complete -c belay -n "__fish_belay_using_subcommand compare" -l name-only -d 'Only name what changed'
complete -c belay -n "__fish_belay_using_subcommand compare" -l name-status -d 'Only name what changed, each with the letter that `belay status` gives it'
complete -c belay -n "__fish_belay_using_subcommand compare" -l all -d 'Show each file of a `.git` that came or went as a whole, too'
complete -c belay -n "__fish_belay_using_subcommand compare" -l exit-code -d 'Exit with 1 when something differs'
complete -c belay -n "__fish_belay_using_subcommand compare" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand compare" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand compare" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand pick" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand pick" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand pick" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand pick" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand pick" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand pick" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand pick" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand pick" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand pick" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand pick" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand undo" -l command -d 'The number of the command to take back, with everything that it started; `belay log` shows the numbers' -r
complete -c belay -n "__fish_belay_using_subcommand undo" -l run -d 'The run that the command belongs to; the latest by default' -r
complete -c belay -n "__fish_belay_using_subcommand undo" -l step -d 'Take back what happened between this snapshot and the next' -r
complete -c belay -n "__fish_belay_using_subcommand undo" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand undo" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand undo" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand undo" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand undo" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand undo" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand undo" -l skip-damaged -d 'Leave files as they are whose content is damaged in the store, and bring back the rest'
complete -c belay -n "__fish_belay_using_subcommand undo" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand undo" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand undo" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand redo" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand redo" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand redo" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand redo" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand redo" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand redo" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand redo" -l skip-damaged -d 'Leave files as they are whose content is damaged in the store, and bring back the rest'
complete -c belay -n "__fish_belay_using_subcommand redo" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand redo" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand redo" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand redo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand restore" -l mtime -d 'Give restored files the time they had, or the present one so that build tools see the change' -r -f -a "exact\t'The one it had'
fresh\t'The present'"
complete -c belay -n "__fish_belay_using_subcommand restore" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand restore" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand restore" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand restore" -s n -l dry-run -d 'Only show what would be done'
complete -c belay -n "__fish_belay_using_subcommand restore" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand restore" -l skip-damaged -d 'Leave files as they are whose content is damaged in the store, and bring back the rest'
complete -c belay -n "__fish_belay_using_subcommand restore" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand restore" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand restore" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand history" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand history" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand history" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand history" -s a -l all -d 'Show the snapshots in which it did not change, too'
complete -c belay -n "__fish_belay_using_subcommand history" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand history" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand history" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand changes" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand changes" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand changes" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand changes" -s a -l all -d 'Name every path, also in directories that came or went as a whole'
complete -c belay -n "__fish_belay_using_subcommand changes" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand changes" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand changes" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand changes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand blame" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand blame" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand blame" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand blame" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand blame" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand blame" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand blame" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand bisect" -l since -d 'A snapshot at which CMD still succeeds' -r
complete -c belay -n "__fish_belay_using_subcommand bisect" -l until -d 'A snapshot at which it fails; the present by default' -r
complete -c belay -n "__fish_belay_using_subcommand bisect" -l profile -d 'What CMD may reach; without it, the profile that suits it' -r
complete -c belay -n "__fish_belay_using_subcommand bisect" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand bisect" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand bisect" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand bisect" -s v -l verbose -d 'Show what CMD writes, on standard error'
complete -c belay -n "__fish_belay_using_subcommand bisect" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand bisect" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand bisect" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand bisect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand cat" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand cat" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand cat" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand cat" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand cat" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand cat" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand cat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand ls" -s l -l long -d 'Show mode, owner, size and time'
complete -c belay -n "__fish_belay_using_subcommand ls" -s R -l recursive -d 'List what is in directories, too'
complete -c belay -n "__fish_belay_using_subcommand ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand find" -s s -l snapshot -d 'Search this snapshot only' -r
complete -c belay -n "__fish_belay_using_subcommand find" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand find" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand find" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand find" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand find" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand find" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand find" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand du" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand du" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand du" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand du" -l why -d 'Show for each snapshot what deleting it alone would free, and which paths take most'
complete -c belay -n "__fish_belay_using_subcommand du" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand du" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand du" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand du" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand gc" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand gc" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand gc" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand gc" -s n -l dry-run -d 'Only say what would be freed'
complete -c belay -n "__fish_belay_using_subcommand gc" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand gc" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand gc" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand verify" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand verify" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand verify" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand verify" -l deep -d 'Read and check every byte'
complete -c belay -n "__fish_belay_using_subcommand verify" -l repair -d 'Bring back lost records, store damaged content anew where a workspace still holds it, and set the rest aside'
complete -c belay -n "__fish_belay_using_subcommand verify" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand verify" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand verify" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand export" -l git-ref -d 'Write a commit and call it refs/sandbox/snapshots/NAME, which must not exist' -r
complete -c belay -n "__fish_belay_using_subcommand export" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand export" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand export" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand export" -l all -d 'Put what git ignores into the commit, too'
complete -c belay -n "__fish_belay_using_subcommand export" -s f -l force -d 'Overwrite an archive that exists'
complete -c belay -n "__fish_belay_using_subcommand export" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand export" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand export" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand import" -l git-ref -d 'A ref of the workspace\'s own repository: one beneath refs/sandbox/snapshots/, or a full name such as refs/heads/main' -r
complete -c belay -n "__fish_belay_using_subcommand import" -s l -l label -d 'A name for the snapshot, unique in the workspace' -r
complete -c belay -n "__fish_belay_using_subcommand import" -s d -l description -d 'A longer note' -r
complete -c belay -n "__fish_belay_using_subcommand import" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand import" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand import" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand import" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand import" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand import" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand forget" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand forget" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand forget" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand forget" -l everywhere -d 'Erase the same content from every other path and workspace that ever held it, too'
complete -c belay -n "__fish_belay_using_subcommand forget" -l consoles -d 'Also erase everything that the terminals of runs showed whose records name a path'
complete -c belay -n "__fish_belay_using_subcommand forget" -s n -l dry-run -d 'Only show which snapshots hold them, and which runs name them'
complete -c belay -n "__fish_belay_using_subcommand forget" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand forget" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand forget" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand forget" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -f -a "ls" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -f -a "rm" -d 'Forget workspaces that are gone: their snapshots and the records of their runs, for good'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -f -a "forget" -d 'Forget workspaces that are gone: their snapshots and the records of their runs, for good'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and not __fish_seen_subcommand_from list ls rm forget help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l gone -d 'All whose directory is gone'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l existing -d 'Also the history of a directory that still exists'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -s n -l dry-run -d 'Only show what would go'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l gone -d 'All whose directory is gone'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l existing -d 'Also the history of a directory that still exists'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -s n -l dry-run -d 'Only show what would go'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from help" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from help" -f -a "rm" -d 'Forget workspaces that are gone: their snapshots and the records of their runs, for good'
complete -c belay -n "__fish_belay_using_subcommand workspaces; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -f -a "list" -d 'List every profile'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -f -a "ls" -d 'List every profile'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -f -a "show" -d 'Show a profile with all that it inherits'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -f -a "check" -d 'Check a profile\'s file without using it'
complete -c belay -n "__fish_belay_using_subcommand profile; and not __fish_seen_subcommand_from list ls show check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "list" -d 'List every profile'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show a profile with all that it inherits'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check a profile\'s file without using it'
complete -c belay -n "__fish_belay_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand why" -l profile -d 'Under this profile' -r
complete -c belay -n "__fish_belay_using_subcommand why" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand why" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand why" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand why" -l path -d 'It is a path'
complete -c belay -n "__fish_belay_using_subcommand why" -l host -d 'It is a host'
complete -c belay -n "__fish_belay_using_subcommand why" -l call -d 'It is a system call'
complete -c belay -n "__fish_belay_using_subcommand why" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand why" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand why" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "list" -d 'List every key with its value'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "ls" -d 'List every key with its value'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "get" -d 'Print the value of one key'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "set" -d 'Set a key in your own configuration file'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "unset" -d 'Take a key out of your own configuration file, so that its default counts again'
complete -c belay -n "__fish_belay_using_subcommand config; and not __fish_seen_subcommand_from list ls get set unset help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -l origin -d 'Show where each value comes from'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -l origin -d 'Show where each value comes from'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "list" -d 'List every key with its value'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "get" -d 'Print the value of one key'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "set" -d 'Set a key in your own configuration file'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "unset" -d 'Take a key out of your own configuration file, so that its default counts again'
complete -c belay -n "__fish_belay_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand trust" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand trust" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand trust" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand trust" -l revoke -d 'Trust it no longer'
complete -c belay -n "__fish_belay_using_subcommand trust" -s y -l yes -d 'Do not ask'
complete -c belay -n "__fish_belay_using_subcommand trust" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand trust" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand trust" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand trust" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand init" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand init" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand init" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand init" -l project -d 'Also connect the agents that are used here, in the project\'s own settings'
complete -c belay -n "__fish_belay_using_subcommand init" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand init" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand init" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand install" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand install" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand install" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand install" -l all -d 'All agents that are used here'
complete -c belay -n "__fish_belay_using_subcommand install" -s n -l dry-run -d 'Only show what would be written'
complete -c belay -n "__fish_belay_using_subcommand install" -l project -d 'Write into the settings of this project, and not into your own'
complete -c belay -n "__fish_belay_using_subcommand install" -l worktrees -d 'Let Claude Code get the copies that it works in (its worktrees) from belay: git-ignored files and dependencies included'
complete -c belay -n "__fish_belay_using_subcommand install" -l shell -d 'Have every command line that Claude Code gives to a shell go through belay, which takes a snapshot first if anything changed: also when hooks are switched off'
complete -c belay -n "__fish_belay_using_subcommand install" -l no-probe -d 'Do not try the hook out afterwards'
complete -c belay -n "__fish_belay_using_subcommand install" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand install" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand install" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l all -d 'All agents that are used here'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -s n -l dry-run -d 'Only show what would be written'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l project -d 'Take them out of the settings of this project instead of your own'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand doctor" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand doctor" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand doctor" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand doctor" -l fix -d 'Connect the agents that are used here and are not connected'
complete -c belay -n "__fish_belay_using_subcommand doctor" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand doctor" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand doctor" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand mcp" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand mcp" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand mcp" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand mcp" -l read-only -d 'Offer only tools that change nothing'
complete -c belay -n "__fish_belay_using_subcommand mcp" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand mcp" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand mcp" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand mcp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand hook" -l shell -d 'Nothing was said: the agent is about to give this command line to a shell' -r
complete -c belay -n "__fish_belay_using_subcommand hook" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand hook" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand hook" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand hook" -l patient -d 'Nobody waits for this: take whatever time it needs'
complete -c belay -n "__fish_belay_using_subcommand hook" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand hook" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand hook" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand statusline" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand statusline" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand statusline" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand statusline" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand statusline" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand statusline" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand statusline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand demo" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand demo" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand demo" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand demo" -l keep -d 'Keep the temporary directory, to look around in it'
complete -c belay -n "__fish_belay_using_subcommand demo" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand demo" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand demo" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand conformance" -l snapshot -d 'The shell command that captures; {workspace} and {store} stand for directories, and it starts in the workspace' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -l restore -d 'The shell command that brings everything back' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -l only -d 'Only properties or groups of them whose name holds this text' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -l place -d 'Make the workspaces beneath DIR, for instance on another filesystem' -r -F
complete -c belay -n "__fish_belay_using_subcommand conformance" -l backend -d 'Try belay itself with this backend; with btrfs and zfs each workspace is made a subvolume or a data set' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -l timeout -d 'How long each command of the tool may take' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand conformance" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand conformance" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand conformance" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand conformance" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand conformance" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand conformance" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand completions" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand completions" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand completions" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand completions" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand completions" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand completions" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand version" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand version" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand version" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand version" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand version" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand version" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand answer" -l run -d 'The run that it is in' -r
complete -c belay -n "__fish_belay_using_subcommand answer" -l cwd -d 'Where it is' -r -F
complete -c belay -n "__fish_belay_using_subcommand answer" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand answer" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand answer" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand answer" -l coloured -d 'Whether its terminal has colours'
complete -c belay -n "__fish_belay_using_subcommand answer" -l pipe -d 'Whether it wants to talk, not an answer'
complete -c belay -n "__fish_belay_using_subcommand answer" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand answer" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand answer" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand answer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand reside" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand reside" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand reside" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand reside" -l begin -d 'Start another process in a session of its own that does it'
complete -c belay -n "__fish_belay_using_subcommand reside" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand reside" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand reside" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand reside" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand supervise" -l channel -d 'The descriptor of the connection to whoever started it' -r
complete -c belay -n "__fish_belay_using_subcommand supervise" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand supervise" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand supervise" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand supervise" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand supervise" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand supervise" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand supervise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -f -a "man" -d 'Write a man page for belay and for each command'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -f -a "markdown" -d 'Print the reference of all commands as Markdown'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -f -a "completions" -d 'Print a completion script'
complete -c belay -n "__fish_belay_using_subcommand util; and not __fish_seen_subcommand_from man markdown completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -l dir -d 'The directory to write them to' -r -F
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from markdown" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -s C -l directory -d 'Act on the workspace that holds DIR instead of the current directory' -r -F
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -l fork -d 'Act on this fork of the workspace instead' -r
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -l color -d 'When to use colour: auto, always or never; auto is on a terminal unless NO_COLOR is set' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -l json -d 'Print JSON: one document, or one object a line for lists that can be long'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -s q -l quiet -d 'Say nothing but what was asked for, warnings and errors'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -l yes-really -d 'Allow your home directory or `/` as a workspace'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from help" -f -a "man" -d 'Write a man page for belay and for each command'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from help" -f -a "markdown" -d 'Print the reference of all commands as Markdown'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from help" -f -a "completions" -d 'Print a completion script'
complete -c belay -n "__fish_belay_using_subcommand util; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "run" -d 'Run a command, and keep the way back'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "watch" -d 'Watch workspaces, with snapshots at the right moments'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "attach" -d 'Come back to a run that goes on by itself'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "stop" -d 'End a run, with everything that it started'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "logs" -d 'Show what a run\'s terminal showed'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "runs" -d 'List the runs of the workspace, oldest first'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "show" -d 'Show one run: what protected it, what it changed, its snapshots, and how to take it back'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "log" -d 'Show what a run did: its commands, the files they changed, and the snapshots'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "sql" -d 'Ask the record of a run in SQL, without being able to change it'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "audit" -d 'Check that the record of a run is what was written, or export it for others to check'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "snapshot" -d 'Take a snapshot of the workspace'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "snapshots" -d 'List, prune or delete snapshots'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "status" -d 'Show the last snapshot, what changed since, and what is not protected'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "diff" -d 'Show what changed between two snapshots, or since one'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "rollback" -d 'Take the workspace back to a snapshot'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "review" -d 'Show what an ephemeral run wrote, and apply all, some or none of it'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "discard" -d 'Discard what an ephemeral run wrote'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "fork" -d 'Make copies of the workspace as it is, for agents that work side by side'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "forks" -d 'List the forks of the workspace, or remove one'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "compare" -d 'Show what differs between two forks, or between the workspace and a fork'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "pick" -d 'Bring what a fork changed into the workspace'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "undo" -d 'Take back the last rollback, or one command or turn and nothing else'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "redo" -d 'Take back the last undo'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "restore" -d 'Bring back files or directories from a snapshot'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "history" -d 'Show in which snapshots a file or directory is new, modified or deleted'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "changes" -d 'Show which files changed, and which command did it'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "blame" -d 'Show which command last changed a file, and each of its lines'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "bisect" -d 'Find the snapshot, and the command, that broke something'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "cat" -d 'Print a file as it is in a snapshot'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "ls" -d 'List what a snapshot holds, and what it lacks'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "find" -d 'Find the snapshots that hold a path'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "du" -d 'Show how much space the snapshots take'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "gc" -d 'Give back the space of what no snapshot needs any more'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "verify" -d 'Check that every snapshot can be restored'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "export" -d 'Write a snapshot as an archive, into a directory or as a commit'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "import" -d 'Make a snapshot of an archive, of another directory or of a git ref'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "forget" -d 'Erase files or directories from every snapshot and every record of the workspace'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "workspaces" -d 'List the workspaces that belay knows, or forget one that is gone'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "profile" -d 'Show what a confined command may reach'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "why" -d 'Say whether a confined command can reach something, and which rule decides'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "config" -d 'Show the configuration in force, or change your own'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "trust" -d 'Trust the belay.toml (or .yaml) of the workspace as it is now'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "init" -d 'Protect a project: a first snapshot of it, kept outside of it'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "install" -d 'Connect agents with belay: their hooks, their tools and their status line'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "uninstall" -d 'Take belay\'s entries out of the settings of agents'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "doctor" -d 'Prove each layer of protection on this machine, and say how to get what is missing'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "mcp" -d 'Serve belay\'s tools to an agent, as an MCP server on standard input and output'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "hook" -d 'Take in an event of an agent, as JSON on standard input'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "statusline" -d 'Print one line on how well this workspace is protected, for the status line of an agent'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "demo" -d 'Watch a rogue agent wreck a small project, and belay take it back'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "conformance" -d 'Find out what a snapshot tool keeps and what it loses'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "completions" -d 'Print a completion script for your shell'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "version" -d 'Print the version'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "answer" -d 'Carry out what an agent asks for'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "reside" -d 'See what changes in a workspace, and answer its agents\' hooks'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "supervise" -d 'Hold tracer, journal and terminal of a run'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "util" -d 'Generate man pages, completions and the reference'
complete -c belay -n "__fish_belay_using_subcommand help; and not __fish_seen_subcommand_from run watch attach stop logs runs show log sql audit snapshot snapshots status diff rollback review discard fork forks compare pick undo redo restore history changes blame bisect cat ls find du gc verify export import forget workspaces profile why config trust init install uninstall doctor mcp hook statusline demo conformance completions version answer reside supervise util help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "verify" -d 'Find every line of a record that was changed, removed, inserted or cut off'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "export" -d 'Write the record of a run into one signed file that can be checked anywhere'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from snapshots" -f -a "list" -d 'List the snapshots of the workspace, oldest first'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from snapshots" -f -a "prune" -d 'Delete old snapshots by a rule, and give the space back'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from snapshots" -f -a "delete" -d 'Delete snapshots by name'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from forks" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from forks" -f -a "rm" -d 'Remove forks; the last state of each is captured first, and a directory of its own stays'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from workspaces" -f -a "list" -d 'List them'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from workspaces" -f -a "rm" -d 'Forget workspaces that are gone: their snapshots and the records of their runs, for good'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "list" -d 'List every profile'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "show" -d 'Show a profile with all that it inherits'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "check" -d 'Check a profile\'s file without using it'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "list" -d 'List every key with its value'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "get" -d 'Print the value of one key'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "set" -d 'Set a key in your own configuration file'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "unset" -d 'Take a key out of your own configuration file, so that its default counts again'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from util" -f -a "man" -d 'Write a man page for belay and for each command'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from util" -f -a "markdown" -d 'Print the reference of all commands as Markdown'
complete -c belay -n "__fish_belay_using_subcommand help; and __fish_seen_subcommand_from util" -f -a "completions" -d 'Print a completion script'
