#!/usr/bin/env bash
# three-nodes.sh FOLDER URL...: three nodes on this machine crawl some sites together, and end when all is done. The pages are in FOLDER/n*/warc.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode --name n1 --data-dir "$1/n1" --contact "$contact" --exit-when-done &
until crawlnode status --check ready; do sleep 0.2; done
crawlnode --name n2 --data-dir "$1/n2" --contact "$contact" --exit-when-done --join 127.0.0.1:27296 &
crawlnode --name n3 --data-dir "$1/n3" --contact "$contact" --exit-when-done --join 127.0.0.1:27296 &
until crawlnode nodes list | grep -q n3; do sleep 0.2; done
until crawlnode seeds add "${@:2}"; do [ $? -eq 4 ] || exit; done # 4: not every partition is served yet
wait
