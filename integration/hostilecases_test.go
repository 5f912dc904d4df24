package integration

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostileCase is one trick and what has to become of the URL that it is tried on.
type hostileCase struct {
	row  string // of the table in hostile_test.go
	name string // host name without the zone; it is the seed, unless seed is set
	talk talk   // nil: the host is plain, or speaks TLS, or is no name at all
	seed string // a whole URL instead of http://name.bad.test:port/
	// want is the outcome of the first fetch: a status, "200 cut" when a limit
	// cut the payload, or the category of the failure.
	want string
	says string            // must stand in the reason
	then map[string]string // outcomes of further URLs, which are found on the way
	most map[string]int    // how often a path of this host may be requested
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// hostileCases are all cases but those of TLS. Every host is a seed, in scope
// "any": what a page leads to is followed wherever it leads.
func (w *hostileWeb) hostileCases() []hostileCase {
	var all []hostileCase
	for _, group := range [][]hostileCase{w.addressCases(), w.redirectCases(), w.payloadCases(),
		slowCases(), headCases(), w.documentCases()} {
		all = append(all, group...)
	}
	for _, c := range all {
		if c.talk != nil {
			w.talks[c.name] = c.talk
		}
	}
	return all
}

// addressCases lead to addresses outside --allow-net (S1, S2). All of them are on this machine, so
// that a broken check would contact no other machine. The other networks are in the tables of
// web/fetcher and node, which connect to nothing.
func (w *hostileWeb) addressCases() []hostileCase {
	cases := []hostileCase{
		{row: "S1", name: "inside", want: "blocked_address"},
		{row: "S1", name: "six", want: "blocked_address"},
		{row: "S1", name: "mapped", want: "blocked_address"},
		{row: "S2", name: "mixed", want: "200"},
		{row: "S2", name: "rebind", want: "200"},
	}
	for _, host := range []string{"0x7f.1", "0.0.0.0", hostileCanaries[0], "localhost", "[::1]",
		"[::ffff:127.0.0.1]"} {
		cases = append(cases, hostileCase{
			row:  "S1",
			seed: fmt.Sprintf("http://%s:%d/", host, w.port),
			want: "blocked_address",
		})
	}
	// robots.txt leads away, and names a sitemap elsewhere.
	w.talks["robotsaway/robots.txt"] = w.to("http://" + hostileCanaries[0] + ":%d/robots.txt")
	elsewhere := fmt.Sprintf("http://%s:%d/sitemap.xml", hostileCanaries[1], w.port)
	w.talks["sitemapaway/robots.txt"] = says("200 OK", "", "Sitemap: "+elsewhere+"\n")
	return append(cases,
		hostileCase{row: "S1", name: "robotsaway"}, // the verdict is package robots' affair
		hostileCase{
			row:  "S1",
			name: "sitemapaway",
			want: "200",
			then: map[string]string{elsewhere: "blocked_address"},
		})
}

// to redirects; %d in the target is the port.
func (w *hostileWeb) to(target string) talk {
	if strings.Contains(target, "%d") {
		target = fmt.Sprintf(target, w.port)
	}
	return says("302 Found", "Set-Cookie: id=1\r\nLocation: "+target, "")
}

// redirectCases are S3, S4 and S7.
func (w *hostileWeb) redirectCases() []hostileCase {
	var cases []hostileCase
	for i, target := range []string{"file:///etc/passwd", "ftp://plain.bad.test/", "data:text/html,x",
		"javascript:alert(1)", "gopher://x/", "http://plain.bad.test:22/", "http://[", ""} {
		cases = append(cases,
			hostileCase{row: "S3", name: fmt.Sprint("away", i), talk: w.to(target), want: "302"})
	}
	meta := fmt.Sprintf("http://%s:%d/metadata", hostileCanaries[2], w.port)
	internal := fmt.Sprintf("http://%s:%d/internal", hostileCanaries[3], w.port)
	w.talks["chain"] = func(c net.Conn, r *http.Request) bool {
		n := 0
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		return w.to(fmt.Sprint("/", n+1))(c, r)
	}
	w.talks["loop/b"] = w.to("/")
	hops := map[string]string{}
	for i := 1; i <= 10; i++ {
		hops[w.url("chain", fmt.Sprint("/", i))] = "302"
	}
	return append(cases,
		hostileCase{
			row:  "S3",
			name: "tointernal",
			talk: w.to(internal),
			want: "302",
			then: map[string]string{internal: "blocked_address"},
		},
		hostileCase{row: "S3", name: "metarefresh", talk: says("200 OK", "Content-Type: text/html",
			`<meta http-equiv=refresh content="0;url=`+meta+`">`),
			want: "200", then: map[string]string{meta: "blocked_address"}},
		hostileCase{
			row:  "S3",
			name: "userinfo",
			talk: w.to("http://me:secret@plain.bad.test:%d/login"),
			want: "302",
			then: map[string]string{w.url("plain", "/login"): "200"},
		},
		// once more with the cookie
		hostileCase{row: "S7", name: "self", talk: w.to("/"), want: "302", most: map[string]int{"/": 2}},
		hostileCase{
			row:  "S7",
			name: "loop",
			talk: w.to("/b"),
			want: "302",
			most: map[string]int{"/": 2, "/b": 1},
		},
		hostileCase{
			row:  "S7",
			name: "chain",
			want: "302",
			then: hops,
			most: map[string]int{"/10": 1, "/11": 0},
		},
	)
}

// payloadCases are S5.
func (w *hostileWeb) payloadCases() []hostileCase {
	cases := []hostileCase{
		{row: "S5", name: "endless", talk: endless(okHead+"\r\n", strings.Repeat("x", 64<<10), 0), want: "200 cut"},
		{row: "S5", name: "endlesschunks", talk: endless(okHead+"Transfer-Encoding: chunked\r\n\r\n",
			chunk(strings.Repeat("<a href=/>", 6000)), 0), want: "200 cut"},
		{
			row:  "S5",
			name: "codings",
			talk: says("200 OK", "Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, gzip", "x"),
			want: "200",
			says: "content codings",
		},
		{row: "S5", name: "twice", talk: says("200 OK",
			"Content-Type: text/html\r\nContent-Encoding: gzip, gzip",
			squeezed(w.t, squeezed(w.t, strings.Repeat("x", 40<<20)))), want: "200 cut"},
		{
			row:  "S5",
			name: "badgzip",
			talk: says("200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip", "\x1f\x8b\x08garbage"),
			want: "200",
			says: "could not be decoded",
		},
	}
	for _, coding := range []string{"br", "deflate", "gzip", "zstd"} {
		body := bomb(w.t, coding)
		cases = append(cases, hostileCase{
			row:  "S5",
			name: "bomb" + coding,
			talk: says("200 OK", "Content-Type: text/html\r\nContent-Encoding: "+coding, body),
			want: "200 cut",
		})
	}
	return cases
}

// bomb is a small payload that becomes 11,511,612 bytes.
func bomb(t testing.TB, coding string) string {
	b, err := os.ReadFile(filepath.Join("..", "web", "fetcher", "testdata", "compressed",
		"bomb-"+coding+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func squeezed(t testing.TB, s string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(s))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// slowCases are S6: each ends by the limit that it runs into, after 10 s of a
// payload that is too slow or 15 s without a head.
func slowCases() []hostileCase {
	return []hostileCase{
		{row: "S6", name: "drip", talk: endless(okHead+"Content-Length: 100000\r\n\r\n", "x", time.Second), want: "200 cut"},
		{row: "S6", name: "dripchunks", talk: endless(okHead+"Transfer-Encoding: chunked\r\n\r\n", chunk("x"), time.Second), want: "200 cut"},
		{row: "S6", name: "hang", talk: silent(okHead + "Content-Length: 10\r\n\r\n"), want: "timeout", says: "too slow"},
		{row: "S6", name: "mute", talk: silent(""), want: "timeout", says: "no answer in time"},
		{row: "S6", name: "slowhead", talk: endless("HTTP/1.1 200 OK\r\n", "A: b\r\n", time.Second), want: "timeout", says: "no answer in time"},
		{
			row:  "S6",
			name: "slowinterim",
			talk: endless("", "HTTP/1.1 103 Early Hints\r\n\r\n", time.Second),
			want: "timeout",
			says: "no answer in time",
		},
	}
}

// headCases are S8, and S15 as far as a head can forge a record.
func headCases() []hostileCase {
	const second = "\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"
	return []hostileCase{
		{
			row:  "S8",
			name: "hugeline",
			talk: raw("HTTP/1.1 200 OK\r\nA: ", strings.Repeat("x", 10<<20), "\r\n\r\n"),
			want: "protocol",
			says: "larger than the limit",
		},
		{
			row:  "S8",
			name: "manylines",
			talk: raw("HTTP/1.1 200 OK\r\n", strings.Repeat("A: b\r\n", 100_000), "\r\n"),
			want: "protocol",
			says: "larger than the limit",
		},
		{row: "S8", name: "interimflood", talk: endless("", "HTTP/1.1 100 Continue\r\n\r\n", 0), want: "protocol", says: "larger than the limit"},
		{row: "S8", name: "barecr", talk: raw(okHead + "A: b\rEvil: 1\r\n\r\nx"), want: "200"},
		{row: "S8", name: "nul", talk: raw(okHead + "A: b\x00c\r\n\r\nx"), want: "200"},
		{row: "S8", name: "barelf", talk: raw("HTTP/1.1 200 OK\nContent-Type: text/html\n\nx"), want: "200"},
		{row: "S8", name: "twolengths", talk: raw(okHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy"), want: "protocol"},
		{row: "S8", name: "samelengths", talk: raw(okHead + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"), want: "200"},
		{
			row:  "S8",
			name: "lengthandchunks",
			talk: raw(okHead + "Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" +
				"\r\nHTTP/1.1 200 OK\r\n\r\nsmuggled"),
			want: "200",
		},
		{row: "S8", name: "badchunks", talk: raw(okHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n"), want: "protocol"},
		{row: "S8", name: "hugechunk", talk: raw(okHead + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx"), want: "protocol"},
		{
			row:  "S8",
			name: "endlesschunksize",
			talk: endless(okHead+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("0", 4096), 0),
			want: "protocol",
		},
		{row: "S8", name: "endlesstrailer", talk: endless(
			okHead+"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", strings.Repeat("A: b\r\n", 100),
			0), want: "200"},
		{row: "S8", name: "folded", talk: raw(okHead + "A: b\r\n c\r\n\td\r\nContent-Length: 1\r\n\r\nx"), want: "200"},
		{row: "S8", name: "nostatus", talk: raw("Content-Type: text/html\r\n\r\nx"), want: "protocol"},
		{row: "S8", name: "http09", talk: raw("<html>no head at all</html>"), want: "protocol"},
		{row: "S8", name: "nothing", talk: raw(), want: "protocol", says: "without an answer"},
		{row: "S8", name: "garbage", talk: raw(strings.Repeat("\xff\x00\x80", 100_000)), want: "protocol"},
		{row: "S8", name: "switching", talk: raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), want: "protocol"},
		{row: "S8", name: "short", talk: raw(okHead + "Content-Length: 1000\r\n\r\nx"), want: "200 cut"},
		{row: "S8", name: "status999", talk: raw("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n"), want: "999"},
		{
			row:  "S15",
			name: "forgedtype",
			talk: raw(
				"HTTP/1.1 200 OK\r\nContent-Type: text/html\x0bWARC-Type: evil\r\nContent-Length: 1\r\n\r\nx"),
			want: "200",
		},
		{row: "S15", name: "forgedbody", talk: raw("HTTP/1.1 200 OK\r\nContent-Type: ../../../etc/passwd\r\n\r\n" + second), want: "200"},
	}
}

// documentCases are hostile robots.txt, HTML, URLs and XML (S10, S12, S13, S21).
func (w *hostileWeb) documentCases() []hostileCase {
	html := func(parts ...string) talk {
		return says("200 OK", "Content-Type: text/html", strings.Join(parts, ""))
	}
	w.talks["robotsendless/robots.txt"] = endless("HTTP/1.1 200 OK\r\n\r\n",
		strings.Repeat("Disallow: /x\n", 5000), 0)
	w.talks["robotsbinary/robots.txt"] = says("200 OK", "",
		strings.Repeat("\xff\xfe\x00D\x00i", 50_000))
	w.talks["robotsbomb/robots.txt"] = says("200 OK", "Content-Encoding: zstd", bomb(w.t, "zstd"))
	w.talks["robotsslow/robots.txt"] = endless("HTTP/1.1 200 OK\r\n\r\n", "#", time.Second)
	entities :=
		`<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "http://x/"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">` +
			`<!ENTITY x SYSTEM "http://` + hostileCanaries[0] + fmt.Sprintf(":%d/xxe",
			w.port) + `">]><urlset><url><loc>&c;</loc></url><url><loc>&x;</loc></url></urlset>`
	maps := map[string]talk{
		"/entities.xml": says("200 OK", "Content-Type: application/xml", entities),
		"/bomb.xml.gz": says("200 OK", "Content-Type: application/gzip",
			squeezed(w.t, strings.Repeat("<url>", 8<<20))),
		"/loop.xml": says("200 OK", "Content-Type: application/xml",
			"<sitemapindex><sitemap><loc>"+w.url("maps", "/loop.xml")+"</loc></sitemap></sitemapindex>"),
		"/deep.xml": says("200 OK", "Content-Type: application/xml", strings.Repeat("<a>", 500_000)),
	}
	robots, outcomes := "", map[string]string{}
	for path, f := range maps {
		w.talks["maps"+path] = f
		robots += "Sitemap: " + w.url("maps", path) + "\n"
		outcomes[w.url("maps", path)] = "200"
	}
	w.talks["maps/robots.txt"] = says("200 OK", "", robots)
	found := func(name string) map[string]string {
		return map[string]string{
			w.url(name, "/found"): "200",
		}
	}
	const link = "<a href=/found>here</a>"
	for _, name := range []string{"deep", "attributes", "unclosed", "nuls", "urls"} {
		w.talks[name+"/found"] = html("found")
	}
	return []hostileCase{
		{row: "S10", name: "robotsendless", want: "200"},
		{row: "S10", name: "robotsbinary", want: "200"},
		{row: "S10", name: "robotsbomb", want: "200"},
		{row: "S10", name: "robotsslow", want: "timeout", says: "robots.txt"},
		{row: "S12", name: "deep", talk: html(strings.Repeat("<div>", 600), link), want: "200", then: found("deep")},
		{row: "S12", name: "attributes", talk: html("<p ", attributes(1_000_000), ">", link), want: "200", then: found("attributes")},
		{row: "S12", name: "links", talk: html(strings.Repeat("<a href=/>", 1_000_000)), want: "200"},
		{row: "S12", name: "onetag", talk: html("<a ", strings.Repeat("x", 12<<20)), want: "200 cut"},
		{row: "S12", name: "unclosed", talk: html(link, "<script>", strings.Repeat("<!--", 200_000)), want: "200", then: found("unclosed")},
		{row: "S12", name: "nuls", talk: html(strings.Repeat("\x00", 100_000), link, "\x00<\x00a\x00"), want: "200", then: found("nuls")},
		{row: "S13", name: "urls", talk: html(oddLinks, link), want: "200", then: found("urls")},
		{row: "S21", name: "maps", want: "200", then: outcomes, most: map[string]int{"/loop.xml": 1}},
	}
}

// attributes are many different ones.
func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%x ", i)
	}
	return b.String()
}

// oddLinks are references that must lead to no request, or to a clean one.
var oddLinks = "<a href='http://" + strings.Repeat("a", 1<<20) + ".test/'>" +
	"<a href='http://127.77.0.1:0/'><a href='http://127.77.0.1:99999/'><a href='http://[v1.x]/'><a " +
	"href='http://a b/'>" +
	"<a href='http://x\x00y/'><a href='//\r\nEvil:1/'><a href='/" + strings.Repeat("y",
	5000) + "'><a href='http:///'><a href='http://%00/'><a href='http://xn--a/'>"
