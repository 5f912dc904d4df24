// Package config turns flags, environment variables and a YAML file into one
// validated Config.
//
// A setting comes from the first of these that names it:
//
//	flag         --data-dir DIR            parsed by the command, passed in
//	environment  CRAWLNODE_DATA_DIR=DIR    lists with commas; patterns and URLs, one a line
//	file         data-dir: DIR             YAML, strict: an unknown key is an error
//	default      the struct tag of Config
//
// The fields of Config with their struct tags define the settings, and there is no other list of
// them: name, group, default and help, the bounds, when a setting counts and whether it can be
// changed while the crawl runs. The command line, the checks, the crawl document (document.go) and
// the API's document (report.go) are derived from them. The tags name, group, placeholder, default,
// help and sep are those of github.com/alecthomas/kong, which this package does not import.
//
// Load reports all errors at once. Each names the flag, the problem and the remedy. A Config that
// Load or Validate accepted is immutable from then on and may be shared.
//
// What this package does not do: it opens no port, creates no directory,
// reads no seeds, and knows no cluster. Package node decides whether a joiner's
// settings fit its cluster.
package config
