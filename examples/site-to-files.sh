#!/usr/bin/env bash
# site-to-files.sh FOLDER URL...: one site, as files with relative links.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode crawl "${@:2}" --contact "$contact" --output "$1"
