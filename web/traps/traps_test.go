package traps

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

const origin = "http://h.test:8080"

// vocabulary are pronounceable words, none of which has a digit.
func vocabulary(n int) []string {
	words := make([]string, n)
	for i := range words {
		var b strings.Builder
		for v := i + 20; v > 0; v /= 20 {
			b.WriteString([]string{"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu",
				"na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo", "zu"}[v%20])
		}
		words[i] = b.String()
	}
	return words
}

// prose is a text of n words that depends on the seed only.
func prose(words []string, seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	return b.String()
}

// site serves a page's text and its links by its path and query; "": there is no such page.
type webSite func(pathQuery string) (text string, links []string)

const menu = "Home Articles Contact Imprint and a line about the firm that runs this site "

var words = vocabulary(3000)

// realPages adds 60 pages with texts of their own, below "/".
func realPages(next webSite) webSite {
	return func(pq string) (string, []string) {
		var links []string
		if pq == "/" {
			for i := range 60 {
				links = append(links, fmt.Sprintf("/about/topic-%d.html", i), "/start")
			}
			return menu + "Welcome", links
		}
		if rest, ok := strings.CutPrefix(pq, "/about/topic-"); ok {
			if n, err := strconv.Atoi(strings.TrimSuffix(rest, ".html")); err == nil && n < 60 {
				return menu + prose(words, uint64(n), 120), nil
			}
		}
		return next(pq)
	}
}

// outcome is what a crawl of a web site came to.
type outcome struct {
	fetched []string
	traps   []*Trap // in the order in which they were told
	watch   *Detector
}

// crawlSite follows the links breadth first until limit pages.
func crawlSite(s webSite, exclude []string, limit int) outcome {
	rules, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: exclude})
	if err != nil {
		panic(err)
	}
	out := outcome{watch: New(8 << 20)}
	start, _ := urlnorm.Parse(origin + "/")
	queue, seen := []urlnorm.URL{start}, map[string]bool{start.String(): true}
	for len(queue) > 0 && len(out.fetched) < limit {
		u := queue[0]
		queue = queue[1:]
		text, links := s(pathAndMore(u))
		if text == "" {
			continue
		}
		out.fetched = append(out.fetched, pathAndMore(u))
		now := time.Unix(int64(len(out.fetched)), 0)
		if t := out.watch.Observe(now, &Page{URL: u, Text: []byte(text)}); t != nil {
			out.traps = append(out.traps, t)
		}
		for _, l := range links {
			to, err := u.Resolve(l)
			if err != nil || seen[to.String()] || rules.Excludes(to) || len(to.String()) > 400 {
				continue
			}
			seen[to.String()] = true
			queue = append(queue, to)
		}
	}
	return out
}

var months = []string{"January", "February", "March", "April", "May", "June", "July", "August",
	"September", "October", "November", "December"}

// monthPage is a calendar's page, as a table of days with two links.
func monthPage(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d Mon Tue Wed Thu Fri Sat Sun ", menu, months[n%12], n/12)
	for d := range 28 + n%4 {
		fmt.Fprintf(&b, "%d ", d+1)
	}
	if n == 2026*12+10 {
		b.WriteString("Concert of the brass band in the town hall, Reading for children, Market ")
	}
	return b.String() + "next month previous month"
}

func monthOf(pq, layout string) (int, bool) {
	var y, m int
	if _, err := fmt.Sscanf(pq, layout, &y, &m); err != nil || m < 1 || m > 12 {
		return 0, false
	}
	return y*12 + m - 1, fmt.Sprintf(layout, y, m) == pq
}

func ym(layout string, n int) string { return fmt.Sprintf(layout, n/12, n%12+1) }

// calendar has pages of months under a layout with a year and a month.
func calendar(layout string) webSite {
	return func(pq string) (string, []string) {
		if pq == "/start" {
			return monthPage(2026*12 + 10), []string{ym(layout, 2026*12+10)}
		}
		if n, ok := monthOf(pq, layout); ok {
			return monthPage(n), []string{ym(layout, n+1), ym(layout, n-1)}
		}
		return "", nil
	}
}

// products is the list of a shop, the same entries in another order or fewer of them.
func products(seed uint64, share int) string {
	r := rand.New(rand.NewPCG(seed, 3))
	b := menu
	for _, i := range r.Perm(40)[:share] {
		b += prose(words, uint64(9000+i), 5) + strconv.Itoa(10+i) + " EUR "
	}
	return b
}

var endless = []struct {
	name string
	site webSite
	// trap tells the pages of the trap from the others.
	trap *regexp.Regexp
	// plain: the pattern needs no regular expression.
	plain string
}{
	{"calendar in the query", calendar("/calendar?month=%04d-%02d"),
		regexp.MustCompile(`^/calendar\?`), origin + "/calendar?month=*"},
	{"calendar with a parameter each", calendar("/events.php?year=%d&month=%d"),
		regexp.MustCompile(`^/events`), origin + "/events.php?year=*"},
	{"calendar beside real pages of one script", func(pq string) (string, []string) {
		const layout = "/index.php?page=calendar&date=%04d-%02d"
		if pq == "/start" {
			links := []string{ym(layout, 2026*12)}
			for i := range 40 {
				links = append(links, fmt.Sprintf("/index.php?page=article&id=%d", i))
			}
			return menu + "overview", links
		}
		if rest, ok := strings.CutPrefix(pq, "/index.php?page=article&id="); ok {
			n, _ := strconv.Atoi(rest)
			return menu + prose(words, uint64(500+n), 80), nil
		}
		return calendar(layout)(pq)
	}, regexp.MustCompile(`page=calendar`), ""},
	{"calendar in the path", calendar("/calendar/%04d/%02d"),
		regexp.MustCompile(`^/calendar/.`), origin + "/calendar/*"},
	{"calendar below real pages", func(pq string) (string, []string) {
		const layout = "/town/%04d/%02d/"
		if pq == "/start" {
			return menu + "town", []string{ym(layout, 2026*12), "/town/mayor", "/town/offices"}
		}
		if pq == "/town/mayor" || pq == "/town/offices" {
			return menu + prose(words, uint64(800+len(pq)), 50), nil
		}
		return calendar(layout)(pq)
	}, regexp.MustCompile(`^/town/[0-9]`), ""},
	{"calendar of names of months", func(pq string) (string, []string) {
		at := func(n int) string {
			return fmt.Sprintf("/cal/%d/%s", n/12, strings.ToLower(months[n%12]))
		}
		if pq == "/start" {
			return menu + "calendar", []string{at(2026 * 12)}
		}
		rest, ok := strings.CutPrefix(pq, "/cal/")
		y, name, _ := strings.Cut(rest, "/")
		m := slices.IndexFunc(months, func(s string) bool { return strings.EqualFold(s, name) })
		year, err := strconv.Atoi(y)
		if !ok || err != nil || m < 0 {
			return "", nil
		}
		return monthPage(year*12 + m), []string{at(year*12 + m + 1), at(year*12 + m - 1)}
	}, regexp.MustCompile(`^/cal/`), origin + "/cal/*"},
	{"session ids", func(pq string) (string, []string) {
		path, _, _ := strings.Cut(pq, "?")
		n, err := strconv.Atoi(strings.TrimPrefix(path, "/shop/p"))
		if pq != "/start" && (err != nil || n >= 10) {
			return "", nil
		}
		var links []string
		for i := range 10 { // each answer has new ids, and plain links
			id := hash(pq + strconv.Itoa(i))
			links = append(links, fmt.Sprintf("/shop/p%d?sid=%016x", i, id),
				fmt.Sprintf("/shop/p%d", i))
		}
		return menu + prose(words, uint64(700+n), 60), links
	}, regexp.MustCompile(`sid=`), origin + "/*?sid=*"},
	{"session ids in the path", func(pq string) (string, []string) {
		path, _, _ := strings.Cut(pq, ";")
		if pq != "/start" && !strings.HasPrefix(path, "/app/view-") {
			return "", nil
		}
		var links []string
		for _, name := range []string{"list", "cart", "help"} {
			id := hash(pq + name)
			links = append(links, "/app/view-"+name,
				fmt.Sprintf("/app/view-%s;jsessionid=%016X", name, id))
		}
		return menu + prose(words, hash(path), 60), links
	}, regexp.MustCompile(`jsessionid=`), ""},
	{"relative links ever deeper", func(pq string) (string, []string) {
		if pq == "/start" {
			return menu + "start of the manual", []string{"/docs/intro/index.html"}
		}
		if !strings.HasPrefix(pq, "/docs/") {
			return "", nil
		}
		last := pq[strings.LastIndexByte(pq[:strings.LastIndexByte(pq, '/')], '/'):]
		// The links lack a "../".
		return menu + prose(words, hash(last), 70),
			[]string{"intro/index.html", "usage/index.html", "faq/index.html"}
	}, nil, ""},
	{"permutations of filters", func(pq string) (string, []string) {
		if pq == "/start" {
			return products(1, 40), []string{"/shop?color=red", "/shop?size=m", "/shop?brand=acme"}
		}
		query, ok := strings.CutPrefix(pq, "/shop?")
		if !ok {
			return "", nil
		}
		var links []string
		for _, f := range []string{"color=red", "color=blue", "size=m", "size=xl", "brand=acme",
			"brand=zeta", "sort=price", "sort=name", "new=yes", "view=grid"} {
			if name, _, _ := strings.Cut(f, "="); !strings.Contains(query, name) {
				links = append(links, pq+"&"+f)
			}
		}
		return products(hash(query), 20), links
	}, regexp.MustCompile(`^/shop\?`), origin + "/shop?*"},
	// Page 31 is the first to say that there is no more, which is news.
	{"a list behind its end", func(pq string) (string, []string) {
		if pq == "/start" {
			return menu + "news", []string{"/news?page=1"}
		}
		n, err := strconv.Atoi(strings.TrimPrefix(pq, "/news?page="))
		if err != nil {
			return "", nil
		}
		text := menu + "no more entries next page"
		if n <= 30 {
			text = menu + prose(words, uint64(3000+n), 60) + "next page"
		}
		return text, []string{fmt.Sprintf("/news?page=%d", n+1)}
	}, regexp.MustCompile(`^/news\?page=(3[2-9]|[4-9]\d|\d{3,})$`), ""},
	{"a counter in the path", func(pq string) (string, []string) {
		if pq == "/start" {
			return menu + "room", []string{"/room-1/view.html", "/room-plan/view.html"}
		}
		if pq == "/room-plan/view.html" {
			return menu + prose(words, 77, 50), nil
		}
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(pq, "/room-"), "/view.html"))
		if err != nil {
			return "", nil
		}
		return menu + "you are in a room with a door to the next one",
			[]string{fmt.Sprintf("/room-%d/view.html", n+1)}
	}, regexp.MustCompile(`^/room-\d+/`), ""},
	{"a counter at the root", func(pq string) (string, []string) {
		if pq == "/start" {
			return menu + "one", []string{"/1"}
		}
		n, err := strconv.Atoi(strings.TrimPrefix(pq, "/"))
		if err != nil {
			return "", nil
		}
		return menu + "a page like all of them", []string{fmt.Sprintf("/%d", n+1)}
	}, regexp.MustCompile(`^/\d+$`), ""},
	{"any URL has an answer", func(pq string) (string, []string) {
		if pq != "/start" && !strings.HasPrefix(pq, "/lost/") {
			return "", nil
		}
		return menu + "nothing was found here", []string{
			fmt.Sprintf("/lost/%016x", hash(pq)),
			fmt.Sprintf("/lost/%016x.html", hash(pq+"b"))}
	}, regexp.MustCompile(`^/lost/`), origin + "/lost/*"},
}

// TestTrapsAreTold: each is told soon, and its pattern leaves the other pages.
func TestTrapsAreTold(t *testing.T) {
	for _, c := range endless {
		t.Run(c.name, func(t *testing.T) {
			web := realPages(c.site)
			with := crawlSite(web, nil, 1500)
			if len(with.fetched) < 1500 {
				t.Fatalf("the site ends after %d pages, so it is no trap", len(with.fetched))
			}
			told := with.watch.Traps(nil)
			if len(told) == 0 {
				t.Fatal("no trap was told")
			}
			if at := with.traps[0].Since.Unix(); at > 250 {
				t.Errorf("told after %d pages", at)
			}
			var patterns []string
			for _, trap := range told {
				t.Logf("%s: %d pages", trap.Pattern, trap.Pages)
				patterns = append(patterns, trap.Pattern)
				if trap.Host != "h.test" {
					t.Errorf("host %q", trap.Host)
				}
			}
			if c.plain != "" && patterns[0] != c.plain {
				t.Errorf("pattern %q, want %q", patterns[0], c.plain)
			}
			without := crawlSite(web, patterns, 1500)
			if c.trap == nil { // what counts is that it ends, and has what is real
				if len(without.fetched) > 150 || countPrefix(without.fetched, "/about/") != 60 {
					t.Errorf("%d pages are left, %d of them real", len(without.fetched),
						countPrefix(without.fetched, "/about/"))
				}
				return
			}
			var want []string
			for _, u := range with.fetched {
				if !c.trap.MatchString(u) {
					want = append(want, u)
				}
			}
			slices.Sort(want)
			slices.Sort(without.fetched)
			if !slices.Equal(without.fetched, want) {
				t.Errorf("with %q %d pages are left, want %d:\n%v\nwant\n%v", patterns,
					len(without.fetched), len(want), without.fetched, want)
			}
		})
	}
}

func countPrefix(list []string, prefix string) (n int) {
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// TestRealSitesAreNoTraps: many pages of one shape, each with something to say.
func TestRealSitesAreNoTraps(t *testing.T) {
	few := vocabulary(300)
	article := func(n int, length int) string {
		return menu + prose(words, uint64(n), length) + "previous article next article"
	}
	for _, c := range []struct {
		name  string
		pages int
		page  func(n int) (path, text string)
	}{
		{"numbered articles", 5000, func(n int) (string, string) {
			return fmt.Sprintf("/article/%d.html", n), article(n, 150)
		}},
		{"short notes", 3000, func(n int) (string, string) {
			return fmt.Sprintf("/note?id=%d", n), article(n, 12)
		}},
		{"few words", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/p/%d", n), menu + prose(few, uint64(n), 40)
		}},
		{"long menus", 1000, func(n int) (string, string) {
			return fmt.Sprintf("/p/%d", n), prose(words, 1, 800) + prose(words, uint64(n+2), 80)
		}},
		{"a news archive by date", 3000, func(n int) (string, string) {
			return fmt.Sprintf("/%d/%02d/%02d/%s", 2010+n/360, n/30%12+1, n%30+1,
				strings.ReplaceAll(prose(words, uint64(n), 4), " ", "-")), article(n, 90)
		}},
		{"lists of headlines by day", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/archive?day=%d-%02d-%02d", 2010+n/360, n/30%12+1, n%30+1),
				menu + months[n/30%12] + " " + prose(words, uint64(n), 25)
		}},
		{"a forum", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/viewtopic.php?t=%d&start=%d", n/10, n%10*20), article(n, 300)
		}},
		{"documentation", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/docs/%d.%d/%s/%s/", n%3, n%7, words[n%40], words[n]), article(n, 60)
		}},
		{"a search with ids", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/item/%016x", hash(string([]byte{byte(n), byte(n >> 8)}))), article(n, 40)
		}},
		{"tables of figures with names", 2000, func(n int) (string, string) {
			return fmt.Sprintf("/player/%d", n), fmt.Sprintf("%s %s %s goals %d games %d", menu,
				words[n], words[(n*7)%3000], n%90, n%300)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := New(8 << 20)
			for n := range c.pages {
				path, text := c.page(n)
				u, err := urlnorm.Parse(origin + path)
				if err != nil {
					t.Fatal(err)
				}
				if trap := w.Observe(time.Unix(int64(n), 0), &Page{URL: u, Text: []byte(text)}); trap != nil {
					t.Fatalf("after %d pages it is told as a trap: %+v", n, trap)
				}
			}
		})
	}
}

// TestPicturesAreNews: a gallery has the same text on each page.
func TestPicturesAreNews(t *testing.T) {
	for _, same := range []bool{false, true} {
		w, told := New(1<<20), false
		for n := range 500 {
			u, _ := urlnorm.Parse(fmt.Sprintf("%s/photo/%d", origin, n))
			src := fmt.Sprintf("%s/img/%d.jpg?r=%d", origin, n, n)
			if same {
				src = fmt.Sprintf("%s/img/logo.png?r=%d", origin, n)
			}
			p := Page{URL: u, Text: []byte(menu + "photo"), Pictures: []string{src}}
			told = w.Observe(time.Unix(0, 0), &p) != nil || told
		}
		if told != same {
			t.Errorf("the same picture everywhere: %v, told %v", same, told)
		}
	}
}

// TestAFalseTrapIsTakenBack: pages that are novel after all.
func TestAFalseTrapIsTakenBack(t *testing.T) {
	w := New(1 << 20)
	page := func(n int, text string) {
		u, _ := urlnorm.Parse(fmt.Sprintf("%s/p?n=%d", origin, n))
		w.Observe(time.Unix(0, 0), &Page{URL: u, Text: []byte(text)})
	}
	for n := range 100 {
		page(n, menu)
	}
	if got := w.Traps(nil); len(got) != 1 || got[0].Pages != 100 {
		t.Fatalf("traps %+v", got)
	}
	u, _ := urlnorm.Parse(origin + "/p?n=7")
	if !w.Contains(u) {
		t.Error("a page of the trap is not known as one")
	}
	for n := range 200 {
		page(100+n, prose(words, uint64(n), 50))
	}
	if got := w.Traps(nil); len(got) != 0 || w.Contains(u) {
		t.Errorf("still told: %+v", got)
	}
}

// TestExcludedTrapsAreNotTold: a person has acted.
func TestExcludedTrapsAreNotTold(t *testing.T) {
	w := crawlSite(realPages(calendar("/c?m=%04d-%02d")), nil, 300).watch
	told := w.Traps(nil)
	if len(told) != 1 {
		t.Fatalf("traps %+v", told)
	}
	r, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: []string{told[0].Pattern}})
	if err != nil {
		t.Fatal(err)
	}
	if left := w.Traps(r); len(left) != 0 {
		t.Errorf("excluded, and told: %+v", left)
	}
}

// TestMemoryIsBounded: many sites, and one with many shapes.
func TestMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	w := New(limit)
	for n := range 3000 {
		for _, raw := range []string{fmt.Sprintf("http://s%d.test/", n),
			fmt.Sprintf("http://big.test/%s/%d", prose(words, uint64(n), 1)[:2], n)} {
			u, err := urlnorm.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			w.Observe(time.Unix(0, 0), &Page{URL: u, Text: []byte(prose(words, uint64(n), 300))})
		}
		total := 0
		for _, s := range w.sites {
			total += s.bytes
		}
		if total != w.bytes || total > limit {
			t.Fatalf("%d bytes of sites, counted as %d, limit %d", total, w.bytes, limit)
		}
	}
}

// TestAtLeast compares with arithmetic.
func TestAtLeast(t *testing.T) {
	for _, n := range []int{1, 2, 9, 10, 11, 19, 31, 99, 100, 109, 190, 999, 1000, 4096} {
		re := regexp.MustCompile("^(" + atLeast(n) + ")$")
		for k := range 12000 {
			if re.MatchString(strconv.Itoa(k)) != (k >= n) {
				t.Fatalf("%v for %d", re, k)
			}
		}
	}
}

// TestShapes has URLs and what stays of them; "#" and "*" stand for the placeholders.
func TestShapes(t *testing.T) {
	for url, want := range map[string]string{
		"/":                                  "/",
		"/a/b?":                              "/a/b?",
		"/2026/11/x":                         "/#/#/x",
		"/page-17.html":                      "/page-#.html",
		"/caf%C3%A9/17":                      "/caf%C3%A9/#",
		"/d?month=2026-11&view=list":         "/d?month=#-#&view=list",
		"/d?17":                              "/d?#",
		"/t/5f3e9a0b":                        "/t/*",
		"/t/deadbeef":                        "/t/deadbeef",
		"/t/0b6d3a44-8f0e-4f6a-9d1c-0a1b2c3": "/t/#b#d#a#-#f#e-#f#a-#d#c-#a#b#c#",
		"/t/0b6d3a44-8f0e-4f6a-9d1c-0a1b2c3d4e5f": "/t/*",
		"/my-article-of-2024-about-tea":           "/my-article-of-#-about-tea",
		"/x?PHPSESSID=abc":                        "/x?PHPSESSID=*",
		"/x;jsessionid=1F?a=1":                    "/x;jsessionid=*?a=#",
	} {
		u, err := urlnorm.Parse(origin + url)
		if err != nil {
			t.Fatal(err)
		}
		s := shapeOf(u)
		got := strings.NewReplacer(string(number), "#", string(token), "*").Replace(s.key())
		if got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// FuzzTake: whatever the URL and the text are, a told pattern compiles and matches its example.
func FuzzTake(f *testing.F) {
	f.Add("/calendar?month=", "next month", "x")
	f.Add("/a;jsessionid=1/#/r/", "\xff\xfe", "")
	f.Add("/?&=&", "", "1")
	f.Fuzz(func(t *testing.T, path, text, tail string) {
		w := New(1 << 16)
		for n := range 64 {
			u, err := urlnorm.ParseRouted(origin + path + strconv.Itoa(n) + tail)
			if err != nil {
				continue
			}
			told := w.Observe(time.Unix(0, 0), &Page{URL: u, Text: []byte(text)})
			if told == nil {
				continue
			}
			r, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: []string{told.Pattern}})
			if err != nil {
				t.Fatalf("pattern %q: %v", told.Pattern, err)
			}
			if e, err := urlnorm.ParseRouted(told.Example); err != nil || !r.Excludes(e) {
				t.Fatalf("pattern %q does not match %q", told.Pattern, told.Example)
			}
		}
	})
}

func BenchmarkTake(b *testing.B) {
	w := New(16 << 20)
	var pages []*Page
	for n := range 200 {
		u, _ := urlnorm.Parse(fmt.Sprintf("%s/article/%d", origin, n))
		pages = append(pages, &Page{URL: u, Text: []byte(menu + prose(words, uint64(n), 1000))})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Observe(time.Unix(0, 0), pages[i%len(pages)])
	}
}
