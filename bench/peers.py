"""Times one package on one directory: peers.py belay|nono-py DIRECTORY SESSION FILE...

Both are asked for the same: everything beneath the directory, whatever git ignores. Every answer is checked.
"""

import os
import sys
import time

peer, work, session, *files = sys.argv[1:]
if peer == "belay":
    import belay as package
else:
    import nono_py as package


def timed(name, act):
    begun = time.perf_counter()
    result = act()
    print(name, f"{time.perf_counter() - begun:.6f}", flush=True)
    return result


os.makedirs(session, exist_ok=True)
manager = package.SnapshotManager(
    session_dir=session,
    tracked_paths=[work],
    exclusion=package.ExclusionConfig(use_gitignore=False),
    max_entries=10_000_000,
    max_bytes=1 << 40,
)
timed("baseline", manager.create_baseline)
before = {}
for file in files:
    with open(file, "rb") as opened:
        before[file] = opened.read()
    with open(file, "ab") as opened:
        opened.write(b"// an edit of the peers\n")
manifest, changes = timed("incremental", manager.create_incremental)
assert sorted(change.path for change in changes) == sorted(files), [change.path for change in changes]
with open(files[0], "ab") as opened:
    opened.write(b"// another\n")
changes = timed("restore", lambda: manager.restore_to(1))
assert [change.path for change in changes] == [files[0]], [change.path for change in changes]
manager.restore_to(0)
for file, content in before.items():
    with open(file, "rb") as opened:
        assert opened.read() == content, file
