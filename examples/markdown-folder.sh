#!/usr/bin/env bash
# markdown-folder.sh FOLDER URL...: each page and document of a site as a file of Markdown in
# FOLDER/markdown, with its title, authors, dates and licence in front, but for those whose owner
# does not want them in the training of a model.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode crawl "${@:2}" --contact "$contact" --data-dir "$1/data" --purpose ai-train
crawlnode export markdown "$1/markdown" --data-dir "$1/data" --preferences obey --purpose ai-train
