#!/usr/bin/env bash
# Scrapy: eight requests at a time, no gap; a spider has to be written first (text-corpus.py).
set -euo pipefail
mkdir "$1"
scrapy runspider "${0%.sh}.py" --nolog -a url="$2" -o "$1/texts.jsonl"
