#!/usr/bin/env bash
# wget2: five requests at a time, no gap.
set -euo pipefail
wget2 --quiet --recursive --level=0 --convert-links --directory-prefix="$1" "${@:2}"
