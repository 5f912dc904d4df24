package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// contractVerbs are the verbs that the public interface fixes, with their options and arguments.
var contractVerbs = map[string]string{
	"start": "name data-dir join", "crawl": "contact max-pages again <urls>", "demo": "",
	"status":    "watch output check addr",
	"seeds add": "file from-cdx status priority again addr <urls>", "nodes list": "addr",
	"nodes drain": "addr <node>", "nodes forget": "addr <node>", "nodes weight": "addr <node> <n>",
	"nodes zone": "addr <node> <name>", "nodes rotate-key": "addr",
	"urls why": "addr <url>", "urls recrawl": "host match addr <urls>",
	"urls list": "state host output addr", "hosts show": "addr <host>",
	"crawl-config show": "addr", "sites show": "addr data-dir", "sites set": "addr <file>",
	"sites test": "file all output addr <url>", "sites edit": "addr",
	"crawl-config set": "addr <changes>", "pause": "addr", "resume": "addr", "stop": "all addr",
	"scope test": "<urls>",
	"keygen":     "role token bot", "bot directory": "bot-key", "doctor": "", "version": "",
	"cat":         "headers text raw data-dir addr <url>",
	"focus train": "like unlike output", "export cdxj": "", "export parquet": "", "export wacz": "",
	"export bulk": "", "export jsonl": "",
	"graph rank": "<files>", "explain": "<code>", "search": "n output addr <words>",
	"index": "<files>", "worker": "addr", "mcp": "addr write token-file data-dir",
	"replay": "addr <files>",
}

// TestContractVerbs checks the names that the public interface fixes. Of an argument it checks that
// there is one.
func TestContractVerbs(t *testing.T) {
	t.Parallel()
	have := make(map[string]*kong.Node)
	for _, n := range everyNode(testParser(t).Model.Node) {
		have[strings.TrimPrefix(n.Path(), "crawlnode ")] = n
	}
	for verb, names := range contractVerbs {
		n := have[verb]
		if n == nil || n.Hidden {
			t.Errorf("there is no verb %q", verb)
			continue
		}
		var flags []string
		for _, group := range n.AllFlags(false) {
			for _, f := range group {
				flags = append(flags, f.Name)
				if f.Short != 0 {
					flags = append(flags, string(f.Short))
				}
			}
		}
		for name := range strings.FieldsSeq(names) {
			if strings.HasPrefix(name, "<") {
				if len(n.Positional) == 0 {
					t.Errorf("%s takes no %s", verb, name)
				}
			} else if !slices.Contains(flags, name) {
				t.Errorf("%s has no --%s, but %v", verb, name, flags)
			}
		}
	}
}
