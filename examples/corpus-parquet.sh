#!/usr/bin/env bash
# corpus-parquet.sh FOLDER URL...: a table of the pages and documents of a site in FOLDER/pages.parquet,
# and of those that are English and under a Creative Commons licence in FOLDER/corpus.parquet. For the
# second, DuckDB is needed.
set -euo pipefail
contact=${CONTACT:-me@example.org}
crawlnode crawl "${@:2}" --contact "$contact" --data-dir "$1/data"
crawlnode export parquet --table pages --data-dir "$1/data" -o "$1/pages.parquet"
command -v duckdb >/dev/null || exit 0
cd "$1" && duckdb -c "
copy (
  select url, title, text,
         metadata ->> '\$.author'  as author,
         metadata ->> '\$.licence' as licence
  from 'pages.parquet'
  where starts_with(coalesce(metadata ->> '\$.language', language), 'en')
    and (metadata ->> '\$.licence') like '%creativecommons.org/licenses/%'
    and coalesce(pref_ai_train, true)
) to 'corpus.parquet'"
