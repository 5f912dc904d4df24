package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"crawlnode/api"
	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/crawl"
)

// ruledNode has rules for sites. version is that of its settings.
type ruledNode struct {
	api.Backend

	mu      sync.Mutex // guards the rest
	rules   string
	settled int
}

func (*ruledNode) RecordChange(crawl.AuditEntry) {}
func (*ruledNode) Metrics() http.Handler         { return http.NotFoundHandler() }

func (n *ruledNode) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := config.Default()
	s := c.Settings("1.2.3")
	s.Sites = n.rules
	return crawl.CrawlReport{Version: "v1", Settings: config.Report(&s)}, nil
}

func (n *ruledNode) ChangeCrawl(
	ctx context.Context,
	change crawl.CrawlChange,
) (crawl.CrawlReport, error) {
	c := config.Default()
	s := c.Settings("1.2.3")
	s.Sites, _, _ = n.Sites(ctx)
	after, err := config.Change(&s, change.Settings, "1.2.3")
	if err != nil {
		return crawl.CrawlReport{}, err
	}
	n.mu.Lock()
	n.rules = after.Sites
	n.settled++
	n.mu.Unlock()
	return n.CrawlConfig(ctx)
}

func (n *ruledNode) Sites(context.Context) (text, version string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rules, "v1", nil
}

func (n *ruledNode) TestSites(
	_ context.Context,
	url string,
	text *string,
) (crawl.SiteReport, error) {
	c := config.Default()
	s := c.Settings("1.2.3")
	n.mu.Lock()
	defer n.mu.Unlock()
	if text == nil {
		text = &n.rules
	}
	return config.SiteByText(&s, *text, url)
}

// rulesFile writes rules into a file.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSites: the rules are set, shown, tested and edited; what is refused changes nothing and is
// told with its lines.
func TestSites(t *testing.T) {
	t.Parallel()
	node := &ruledNode{}
	server := httptest.NewServer(api.New(node, api.Options{}))
	t.Cleanup(server.Close)
	addr := server.Listener.Addr().String()
	verb := func(args ...string) result {
		t.Helper()
		return run(t, "", append(args, "--addr", addr)...)
	}
	const rules = "# ours\n- match: domain:a.test\n  delay: 5s\n- match: host:b.a.test\n  retries: 7\n"
	good, bad := rulesFile(t, rules), rulesFile(t, "- match: host:a.test\n  delai: 1s\n  retries: x\n")

	verb("sites", "show").want(t, command.ExitOK, "", "there are no rules for sites")
	verb("sites", "set", good).want(
		t, command.ExitOK, "hold on all nodes: "+config.SitesName(rules), "")
	if r := verb("sites", "show"); r.out != rules {
		t.Errorf("shown: %q", r.out)
	}
	for _, args := range [][]string{{"sites", "set", bad}, {"crawl-config", "set", "sites=@" + bad}} {
		r := verb(args...)
		r.want(t, command.ExitUsage, "", `line 2: unknown field "delai"; did you mean "delay"?`)
		r.want(t, command.ExitUsage, "", "line 3: retries: ")
	}
	verb("sites", "set", bad+"none").want(t, command.ExitUsage, "", "none: no such file")
	verb("crawl-config", "set", "sites="+good).want(t, command.ExitUsage, "",
		"sites=@FILE sends those of a file")
	if node.rules != rules {
		t.Errorf("a mistake has changed %q", node.rules)
	}

	r := verb("sites", "test", "http://B.a.test/x")
	r.want(t, command.ExitOK, "rule of line 2  domain:a.test\nrule of line 4  host:b.a.test\n"+
		"delay    5s  line 3\nretries  7   line 5\n", "")
	if strings.Contains(r.out, "timeout") {
		t.Errorf("a value of the crawl: %s", r.out)
	}
	verb("sites", "test", "http://b.a.test/", "--all").want(t, command.ExitOK, "crawl\n", "")
	verb("sites", "test", "http://c.test/").want(t, command.ExitOK, "no rule for sites applies", "")
	verb("sites", "test", "mailto:x").want(t, command.ExitUsage, "", "not a URL to crawl")
	var report crawl.SiteReport
	r = verb("sites", "test", "http://c.test/", "--file",
		rulesFile(t, "- match: host:c.test\n  delay: 9s\n"), "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || len(report.Rules) != 1 ||
		report.Values[0].Value != "9s" {
		t.Errorf("%v %s", err, r.out)
	}
	verb("sites", "test", "http://c.test/", "--file", bad).want(t, command.ExitUsage, "",
		"line 2: unknown field")

	r = verb("crawl-config", "show")
	_, shown, _ := strings.Cut(r.out, "\nsites=")
	shown, _, _ = strings.Cut(shown, "\n")
	verb("crawl-config", "set", "sites="+shown).want(t, command.ExitOK,
		"sites="+config.SitesName(rules), "")
	verb("crawl-config", "set", "sites=").want(t, command.ExitOK, "sites=\n", "")
	verb("crawl-config", "set", "sites=@"+good).want(t, command.ExitOK,
		"sites="+config.SitesName(rules), "")

	edit := func(editor string) result {
		t.Helper()
		return runWith(t, map[string]string{"EDITOR": editor}, "", "sites", "edit", "--addr", addr)
	}
	before := node.settled
	edit("true").want(t, command.ExitOK, "nothing was changed", "")
	if node.settled != before {
		t.Error("what was not edited was set")
	}
	edit("sed -i s/5s/6s/").want(t, command.ExitOK, "hold on all nodes", "")
	if want := strings.Replace(rules, "5s", "6s", 1); node.rules != want {
		t.Errorf("edited: %q", node.rules)
	}
	for editor, says := range map[string]string{
		"sed -i s/delay/delai/": "line 3: unknown field",
		"false":                 "the editor",
	} {
		r = edit(editor)
		r.want(t, map[string]int{"false": command.ExitError}[editor]+
			map[string]int{"sed -i s/delay/delai/": command.ExitUsage}[editor], "", says)
		_, kept, _ := strings.Cut(r.errout, "crawlnode sites set ")
		if err := os.Remove(strings.TrimSpace(kept)); err != nil {
			t.Errorf("%s: the text is not kept: %v", editor, err)
		}
	}
}

// TestSitesWithoutANode: a file is tried where no node answers, but not when one was named.
func TestSitesWithoutANode(t *testing.T) {
	t.Parallel()
	file := rulesFile(t, "- match: host:a.test\n  delay: 5s\n")
	const url = "http://a.test/"
	run(t, "", "sites", "test", url, "--file", file, "--addr", "127.0.0.1:1").want(t,
		command.ExitError, "", "nobody answers")
	runWith(t, map[string]string{"CRAWLNODE_ADDR": "127.0.0.1:1"}, "", "sites", "test", url, "--file",
		file).want(t, command.ExitError, "", "nobody answers")
	run(t, "", "sites", "test", url, "--addr", "127.0.0.1:1").want(t, command.ExitError, "",
		"nobody answers")
}
