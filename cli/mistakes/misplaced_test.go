package mistakes

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestMisplaced: a flag before its verb is told where it belongs.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	var model struct {
		Start struct {
			Pages int `name:"max-pages"`
		} `cmd:"" default:"withargs"`
		Crawl struct {
			Pages int      `name:"max-pages"`
			URLs  []string `arg:"" optional:""`
		} `cmd:""`
		Nodes struct {
			List struct {
				Addr string `short:"a"`
			} `cmd:""`
			Drain struct{} `cmd:""`
			Debug struct{} `cmd:"" hidden:""`
		} `cmd:""`
	}
	for args, want := range map[string]string{
		"--max-pages 5 crawl u": "flag --max-pages stands before the verb: write it behind, " +
			"as crawlnode crawl --max-pages; see crawlnode crawl --help",
		"--addr x nodes list": "flag --addr stands before the verb: write it behind, " +
			"as crawlnode nodes list --addr; see",
		"-a x nodes list": "flag -a stands before the verb: write it behind, " +
			"as crawlnode nodes list -a; see",
		"--max-pages 5 nodes list": "crawlnode nodes list has no flag --max-pages; see",
		"--bogus nodes list":       "unknown flag --bogus",
		"--bogus":                  "unknown flag --bogus",
		"crawl --bogus u":          "unknown flag --bogus",
		"crawl u --join h:1": "unknown flag --join: crawl runs one node of its own; " +
			"to take part in a cluster: crawlnode start --join host:port, and crawlnode seeds add URL; see",
		"crawl u --peers h:1": "unknown flag --peers: crawl runs one node of its own",
		"nodes pdf": "unexpected argument pdf: crawlnode nodes has drain, list; " +
			"see crawlnode nodes --help",
		"start n1": "unexpected argument n1: --name n1 names the node; see",
		"start http://a.example/": "unexpected argument http://a.example/: to crawl it: " +
			"crawlnode crawl http://a.example/, or --seed http://a.example/; see",
		"--max-pages crawl u nodes ": "", // a value that is a verb: whatever is said, it must not panic
	} {
		p, err := kong.New(&model, kong.Name("crawlnode"))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(args)
		if _, err = p.Parse(words); err == nil {
			t.Errorf("%q: no error", args)
		} else if got := Explain(p.Model, words, err); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}
