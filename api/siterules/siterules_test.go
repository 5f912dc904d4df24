package siterules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
)

const sample = `# our sites
- match: domain:example.org   # all of it
  delay: 5s # they asked for it
  # the team's header
  headers: {X-Team: web, Accept-Language: de}
  timeout: 2m

# the shop
- delay: 2s
  match:
  - host:shop.example
  - host:eu.shop.example
  auth: {basic: secret:shop}

- {match: host:a.test, retries: 1, max-pages: 10} # small
# the end
`

// form is the form of a rule of a text.
func form(t *testing.T, text string, number int) (*Text, *Form) {
	t.Helper()
	all, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	f := all.Rule(number).Form
	return all, &f
}

func TestRule(t *testing.T) {
	t.Parallel()
	all, err := Read(sample)
	if err != nil || all.Len() != 3 {
		t.Fatal(all, err)
	}
	for i, want := range []string{
		`{0 2 [domain:example.org] [{delay 5s} {headers X-Team: web; Accept-Language: de} {timeout 2m}] ` +
			"{domain:example.org 5s X-Team: web\nAccept-Language: de       }}",
		"{1 9 [host:shop.example host:eu.shop.example] [{delay 2s} {auth basic: secret:shop}] " +
			"{host:shop.example\nhost:eu.shop.example 2s   basic shop    }}",
		`{2 15 [host:a.test] [{retries 1} {max-pages 10}] {host:a.test       10  }}`,
	} {
		if got := fmt.Sprint(all.Rule(i)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestChange: of the text only the fields change that the form has otherwise.
func TestChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number   int
		edit     func(f *Form)
		old, new string
	}{
		"nothing":                {0, func(*Form) {}, "", ""},
		"a value with a comment": {0, func(f *Form) { f.Delay = "7s" }, "delay: 5s #", "delay: 7s #"},
		"a value within comments": {0, func(f *Form) { f.Headers = "X-Team: ops" },
			"  headers: {X-Team: web, Accept-Language: de}\n", "  headers:\n    X-Team: ops\n"},
		"a field less": {0, func(f *Form) { f.Headers = "" },
			"  headers: {X-Team: web, Accept-Language: de}\n", ""},
		"new fields": {0, func(f *Form) {
			f.MaxPages, f.Render, f.Proxy = "100", "all", "socks5://127.0.0.1:1080\nsocks5://127.0.0.1:1081"
		},
			"  timeout: 2m\n", "  timeout: 2m\n  proxy:\n    - socks5://127.0.0.1:1080\n" +
				"    - socks5://127.0.0.1:1081\n  max-pages: 100\n  render: all\n"},
		"the field at the dash": {0, func(f *Form) { f.Match = "host:example.org\nglob:*.pdf" },
			"- match: domain:example.org   # all of it\n",
			"- match:\n    - host:example.org\n    - glob:*.pdf\n"},
		"no field at the dash": {1, func(f *Form) { f.Delay = "" }, "- delay: 2s\n  match:\n",
			"- match:\n"},
		"both at the dash": {1, func(f *Form) { f.Delay, f.Match = "", "host:shop.example" },
			"- delay: 2s\n  match:\n  - host:shop.example\n  - host:eu.shop.example\n",
			"- match: host:shop.example\n"},
		"a login": {1, func(f *Form) { f.Auth, f.Secret = "bearer", "token" },
			"auth: {basic: secret:shop}", "auth:\n    bearer: secret:token"},
		"no login": {1, func(f *Form) { f.Auth, f.Secret = "none", "" },
			"auth: {basic: secret:shop}", "auth: none"},
		"braces": {2, func(f *Form) { f.MaxPages, f.Delay = "20", "3s" },
			"- {match: host:a.test, retries: 1, max-pages: 10} # small\n",
			"- match: host:a.test # small\n  retries: 1\n  max-pages: 20\n  delay: 3s\n"},
		"text in quotes": {0, func(f *Form) { f.Headers = "X-A: null\nX-B:\nX-C: 'a: b # c" },
			"  headers: {X-Team: web, Accept-Language: de}\n",
			"  headers:\n    X-A: \"null\"\n    X-B: null\n    X-C: '''a: b # c'\n"},
	} {
		all, f := form(t, sample, c.number)
		c.edit(f)
		got, err := all.Change(c.number, f)
		if want := strings.Replace(sample, c.old, c.new, 1); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if _, after := form(t, got, c.number); *after != *f {
			t.Errorf("%s: %+v, want %+v", name, after, f)
		}
		if _, problems := config.ParseSites(got, nil); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	f := &Form{
		Match:   " host:new.test \r\n\r\nglob:*.pdf",
		Delay:   "1s",
		Cookies: "host",
		Auth:    "basic",
		Secret:  "secret:x",
	}
	f.Trim()
	const rule = "- match:\n    - host:new.test\n    - glob:*.pdf\n  delay: 1s\n  auth:\n" +
		"    basic: secret:x\n  cookies: host\n"
	for before, after := range map[string]string{
		"":           rule,
		"# none yet": "# none yet\n" + rule,
		sample:       sample + rule,
		"  - match: host:a.test": "  - match: host:a.test\n  " +
			strings.TrimRight(strings.ReplaceAll(rule, "\n", "\n  "), " "),
		"- match: host:a.test\n#": "- match: host:a.test\n#\n" + rule,
	} {
		all, err := Read(before)
		if err != nil {
			t.Fatal(err)
		}
		got, err := all.Add(f)
		if err != nil || got != after {
			t.Errorf("%q: %v\n%s\nwant\n%s", before, err, got, after)
			continue
		}
		if all, err = Read(got); err != nil {
			t.Fatal(err)
		}
		back, err := all.Remove(all.Len() - 1)
		if want := strings.TrimSuffix(before, "\n"); err != nil ||
			strings.TrimSuffix(back, "\n") != want {
			t.Errorf("%q without it: %v\n%s", before, err, back)
		}
	}
	all, _ := form(t, sample, 0)
	got, err := all.Remove(1)
	if want := strings.Replace(sample,
		"- delay: 2s\n  match:\n  - host:shop.example\n  - host:eu.shop.example\n"+
			"  auth: {basic: secret:shop}\n", "", 1); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestRefused: what this package does not know how to change stays as it is.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[{match: host:a.test}, {match: host:b.test}]\n",
		"- {match: host:a.test, # so\n   delay: 1s}\n",
	} {
		all, f := form(t, text, 0)
		f.Delay = "9s"
		if got, err := all.Change(0, f); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	if _, err := Read("a: b\n"); err == nil {
		t.Error("a mapping is read")
	}
	all, f := form(t, sample, 0)
	if _, err := all.Change(7, f); err == nil {
		t.Error("there is a rule 7")
	}
	if _, err := all.Remove(-1); err == nil {
		t.Error("there is a rule -1")
	}
}

// FuzzChange: whatever is changed in one rule, the text stays readable, and every line around the
// rule as it was.
func FuzzChange(f *testing.F) {
	f.Add(sample, 0, "host:x.test", "3s", "A: b")
	f.Add(sample, 1, "host:x.test", "", "")
	f.Add("- match: |\n    host:a.test\n  delay: 1s\n", 0, "host:b.test", "2s", "")
	f.Add("-\n  # c\n  match: host:a.test\n- match: host:b.test\n", 1, "host:c.test", "", "X: y")
	f.Add("- match: host:a.test\n  ? delay\n  : 1s\n", 0, "host:c.test", "2s", "")
	f.Fuzz(func(t *testing.T, text string, number int, match, delay, headers string) {
		if _, problems := config.ParseSites(text, nil); len(problems) > 0 {
			return
		}
		all, err := Read(text)
		if err != nil || number < 0 || number >= all.Len() {
			return
		}
		form := all.Rule(number).Form
		form.Match, form.Delay, form.Headers = match, delay, headers
		form.Trim()
		got, err := all.Change(number, &form)
		if err != nil {
			return
		}
		after, err := Read(got)
		if err != nil || after.Len() != all.Len() {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		first, end, err := all.place(number)
		if err != nil || !strings.HasPrefix(got, strings.Join(all.lines[:first], "")) ||
			!strings.HasSuffix(got, strings.Join(all.lines[end:], "")) {
			t.Fatalf("%q became %q: what is around the rule has changed, %v", text, got, err)
		}
		for i := range all.Len() {
			if before, now := all.Rule(i), after.Rule(i); i != number &&
				fmt.Sprint(before.Match, before.Others) != fmt.Sprint(now.Match, now.Others) {
				t.Fatalf("%q became %q: rule %d", text, got, i)
			}
		}
	})
}

// racing is a node whose settings somebody else changes some times before one change gets through.
type racing struct {
	rules string
	races int
	tries int
}

func (r *racing) Sites(context.Context) (text, version string, err error) {
	return r.rules, fmt.Sprint("v", r.races), nil
}

func (r *racing) ChangeCrawl(_ context.Context, c crawl.CrawlChange) (crawl.CrawlReport, error) {
	if r.tries++; r.races > 0 {
		r.races--
		return crawl.CrawlReport{}, crawl.ErrChanged
	}
	if c.Version != "v0" {
		return crawl.CrawlReport{}, errors.New("another version")
	}
	return crawl.CrawlReport{Version: "v1"}, json.Unmarshal(c.Settings["sites"], &r.rules)
}

// TestSet: another change does not prevent one, nor is the other one lost; other rules do.
func TestSet(t *testing.T) {
	t.Parallel()
	same := func(text string) func(string) bool {
		return func(tag string) bool { return tag == crawl.SitesTag(text) }
	}
	node := &racing{rules: "# a\n", races: 3}
	if r, err := Set(t.Context(), node, "# b\n", same("# a\n")); err != nil || r.Version != "v1" ||
		node.rules != "# b\n" || node.tries != 4 {
		t.Error(r, err, node)
	}
	node = &racing{rules: "# a\n"}
	if _, err := Set(t.Context(), node, "# b\n", same("# c\n")); !errors.Is(err, crawl.ErrChanged) ||
		node.tries != 0 {
		t.Error(err, node)
	}
	node = &racing{rules: "# a\n", races: 100}
	if _, err := Set(t.Context(), node, "# b\n", same("# a\n")); !errors.Is(err, crawl.ErrChanged) ||
		node.tries != attempts {
		t.Error(err, node)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	name := config.SitesName(sample)
	if Name(sample) != name || Name(name) != name || Name("") != "" ||
		len(Name(strings.Repeat("x", 1000))) > 100 {
		t.Error(Name(sample), Name(name))
	}
}
