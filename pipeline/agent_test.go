package pipeline

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// TestAgentFollowsTheUserAgent: robots.txt, X-Robots-Tag and robots meta elements address the crawl
// by the product token of its user agent, or by --robots-agent (RFC 9309, section 2.2.1), and
// nobody else by theirs.
func TestAgentFollowsTheUserAgent(t *testing.T) {
	t.Parallel()
	const file = "user-agent: FieldBot\ndisallow: /field\nuser-agent: crawlnode\n" +
		"disallow: /crawlnode\nuser-agent: *\ndisallow: /any\n"
	for name, tc := range map[string]struct {
		userAgent, robotsAgent string
		forbidden              string // the one path that is forbidden
	}{
		"default":    {userAgent: "crawlnode/1 (+me@example.org)", forbidden: "/crawlnode"},
		"own":        {userAgent: "FieldBot/1.0 (+https://field.example)", forbidden: "/field"},
		"lower case": {userAgent: "fieldbot", forbidden: "/field"},
		"compatible": {userAgent: "Mozilla/5.0 (compatible; FieldBot/2)", forbidden: "/field"},
		"unnamed":    {userAgent: "NoBot/1.0", forbidden: "/any"},
		"setting":    {userAgent: "NoBot/1.0", robotsAgent: "FieldBot", forbidden: "/field"},
	} {
		for _, path := range []string{"/field", "/crawlnode", "/any"} {
			b := newBench(t, scope.Options{})
			b.rules.Settings.UserAgent, b.rules.Settings.RobotsAgent = tc.userAgent, tc.robotsAgent
			b.serve("http://a.test"+path, 200, "", "x")
			b.visit("http://a.test"+path, func(v *crawl.Visit) {
				v.Robots = &crawl.Robots{
					Origin:  "http://a.test",
					Verdict: crawl.RobotsRules,
					Body:    []byte(file),
					Expires: time.Now().Add(time.Hour),
				}
			})
			_, o := b.one()
			if refused := o.Kind == crawl.Refused; refused != (path == tc.forbidden) {
				t.Errorf("%s: %s: %v (%s), want %s alone to be forbidden", name, path, o.Kind, o.Reason,
					tc.forbidden)
			}
		}
	}
	for name, c := range map[string]struct {
		header, head    string
		noIndex, follow bool
	}{
		"tag for us":      {header: "X-Robots-Tag: fieldbot: noindex, nofollow", noIndex: true},
		"tag for another": {header: "X-Robots-Tag: crawlnode: none", follow: true},
		"meta for us":     {head: `<meta name="FieldBot" content="nofollow">`},
		"meta for all":    {head: `<meta name="robots" content="none">`, noIndex: true},
		"meta for others": {head: `<meta name="crawlnode" content="none">`, follow: true},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.UserAgent = "FieldBot/1.0"
		b.serve("http://a.test/", 200, c.header, "<head>"+c.head+`</head><a href="/next">next</a>`)
		b.visit("http://a.test/")
		if _, o := b.one(); o.NoIndex != c.noIndex || (len(o.Targets) == 1) != c.follow {
			t.Errorf("%s: noindex %v, targets %d", name, o.NoIndex, len(o.Targets))
		}
	}
}
