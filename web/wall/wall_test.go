package wall

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answerOf makes an answer. Header is "Name: value", more of them behind a line end.
func answerOf(status int, header, body string) *Answer {
	a := &Answer{Status: status, Header: http.Header{}, MediaType: "text/html", Body: []byte(body)}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if a.Header.Add(name, value); name == "Content-Type" {
			a.MediaType = value
		}
	}
	return a
}

// page makes a page with a title.
func page(title, body string) string {
	return "<!DOCTYPE html>\n<html><head><title>" + title + "</title></head><body>" + body +
		"</body></html>"
}

// walls are answers as the products make them, shortened and in other words but for the marks.
var walls = []struct {
	name   string
	want   Product
	status int
	header string
	body   string
}{
	{"cloudflare challenge, by its header", Cloudflare, 403, "Cf-Mitigated: challenge", page("Just a moment...", "Wait.")},
	{"cloudflare challenge, header with an empty page", Cloudflare, 503, "cf-mitigated: challenge", ""},
	{"cloudflare challenge of before the header", Cloudflare, 503, "Server: cloudflare",
		page("Just a moment...",
			`<script>window._cf_chl_opt={cvId:'3'};</script><noscript>Enable JavaScript and cookies.</noscript>`)},
	{"cloudflare block", Cloudflare, 403, "Server: cloudflare\nCf-Ray: 8f-FRA",
		page("Attention Required! | Cloudflare",
			`<div id="cf-error-details"><h1>Sorry, you have been blocked</h1></div>`)},
	{"cloudflare 1020", Cloudflare, 403, "Server: cloudflare",
		page("Access denied | shop.test used Cloudflare to restrict access",
			`<div id="cf-error-details">Error 1020</div>`)},
	{"akamai refusal", Akamai, 403, "Server: AkamaiGHost",
		page("Access Denied",
			`<h1>Access Denied</h1>You don't have permission to access "http&#58;//shop.test/" on this server.<p>Reference&#32;&#35;18.aa.bb<p>https://errors.edgesuite.net/18.aa`)},
	{"akamai interstitial", Akamai, 200, "",
		page("&nbsp;",
			`<script>fetch("/_sec/verify?provider=interstitial",{method:"POST",body:JSON.stringify({"bm-verify":"AAQ"})})</script>`)},
	{"akamai crypto challenge", Akamai, 429, "", page("Challenge Validation",
		`<div id="sec-if-cpt-container"></div><script src="/_sec/cp_challenge/ak.js"></script>`)},
	{"imperva script page", Imperva, 200, "X-Iinfo: 10-123",
		`<html><head><META NAME="robots" CONTENT="noindex,nofollow"><script src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4"></script><iframe src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=10"></iframe></html>`},
	{"imperva incident", Imperva, 403, "X-Cdn: Imperva", `<html><body>Request unsuccessful. Incapsula incident ID: 10-1-2</body></html>`},
	{"imperva interruption", Imperva, 403, "X-Cdn: Imperva", page("Pardon Our Interruption",
		"<h1>Pardon Our Interruption</h1><p>As you were browsing, something made us think that you are "+
			"a robot.")},
	{"datadome captcha", DataDome, 403, "X-Datadome: protected",
		`<html><script>var dd={'rt':'c','cid':'x','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script></html>`},
	{"datadome json", DataDome, 403, "X-Dd-B: 1\nContent-Type: application/json",
		`{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=x"}`},
	{"datadome device check", DataDome, 401, "",
		`<script>var dd={'rt':'i','host':'geo.captcha-delivery.com'}</script><script src="https://interstitial.captcha-delivery.com/i.js"></script>`},
	{"human press and hold", Human, 403, "", page("Access to this page has been denied",
		`<script>window._pxAppId='PX1'</script><div id="px-captcha"></div>`)},
	{"human json", Human, 403, "Content-Type: application/json",
		`{"appId":"PX1","jsClientSrc":"/x/init.js","blockScript":"https://captcha.px-cdn.net/PX1/captcha.js"}`},
	{"human with a long comment", Human, 403, "", page("Access to this page has been denied",
		`<div id="px-captcha"></div><!-- a > b `+words(600)+`-->`)},
	{"human of old", Human, 403, "", page("Access to This Page Has Been Blocked",
		`See https://www.perimeterx.com/whywasiblocked: we believe you are using automation tools.`)},
	{"aws challenge", AWSWAF, 202, "X-Amzn-Waf-Action: challenge", page("", `<script>window.gokuProps={"key":"A"}</script>`)},
	{"aws captcha", AWSWAF, 405, "x-amzn-waf-action: captcha", page("Human Verification", "")},
	{"aws challenge behind a proxy that drops headers", AWSWAF, 202, "", page("",
		`<script>window.gokuProps={"key":"A"}</script><script src="https://ab.token.awswaf.com/ab/challenge.js"></script>`)},
	{"anubis", Anubis, 200, "", page("Making sure you&#39;re not a bot!",
		`<link href="/.within.website/x/cmd/anubis/static/css/x.css"><script id="anubis_version" type="application/json">"v1.20"</script><script id="anubis_challenge" type="application/json">{"rules":{}}</script>`+
			strings.Repeat("<p>The administrator protects the server with a proof of work. ", 22))},
	{"anubis in German", Anubis, 200, "", page("Es wird geprüft, dass Sie kein Bot sind!",
		`<img src="/.within.website/x/cmd/anubis/static/img/pensive.webp"><script id="anubis_challenge" type="application/json">{}</script>`)},
	{"anubis refusal", Anubis, 403, "", page("Oh noes!",
		`<img src="/.within.website/x/cmd/anubis/static/img/reject.webp">Access Denied: error code 1`)},
	{"sucuri block", Sucuri, 403, "Server: Sucuri/Cloudproxy", page(
		"Sucuri WebSite Firewall - Access Denied",
		`<h1>Access Denied - Sucuri Website Firewall</h1>cloudproxy@sucuri.net`)},
	{"sucuri cookie script", Sucuri, 200, "X-Sucuri-Id: 11", page("You are being redirected...",
		`<script>var s={},sucuri_cloudproxy_js='';S='cz0';</script>`)},
	{"kasada", Kasada, 429, "X-Kpsdk-Ct: 0abc",
		`<html><body><script>window.KPSDK={};KPSDK.now=Date.now</script><script src="/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js"></script></body></html>`},
	{"f5 refusal with status 200", F5, 200, "Server: BigIP", page("Request Rejected",
		"The requested URL was rejected. Please consult with your administrator.<br>Your support "+
			"ID is: 123")},
	{"f5 script challenge", F5, 200, "", page("",
		`<script>window["bobcmn"] = "1011";</script><script src="/TSPD/08ab?type=7"></script><noscript>Please enable JavaScript to view the page content. Your support ID is: 1</noscript>`)},
	{"fastly challenge", Fastly, 200, "", page("Client Challenge",
		`<script src="/_fs-ch-1T1wmsGaOgGaSxcX/script.js"></script><noscript>JavaScript is disabled in your browser.</noscript>Please enable JavaScript to proceed.`)},
	{"vercel checkpoint", Vercel, 429, "X-Vercel-Mitigated: challenge", page("Vercel Security Checkpoint", "")},
	{"vercel denial", Vercel, 403, "X-Vercel-Mitigated: deny", "Forbidden"},
	{"reblaze challenge", Reblaze, 503, "Server: Reblaze Secure Web Gateway",
		page("", `<script>window.rbzns={bereshit:"1"};rbzns.challdomain="a.test"</script>`)},
	{"radware captcha", Radware, 200, "", page("Radware Bot Manager Captcha",
		`<script src="https://cas.avalon.perfdrive.com/x"></script><p>validate.perfdrive.com`)},
	{"radware block", Radware, 403, "", page("Unauthorized Request Blocked",
		`Unauthorized Activity Has Been Detected. Contact CloudWebSec.radware.com with the case number`)},
	{"ddos-guard check", DDoSGuard, 403, "Server: ddos-guard", page("DDoS-Guard",
		`<p>Checking your browser before accessing a.test<script src="/.well-known/ddos-guard/js-challenge/index.js"></script>`)},
	{"qrator", Qrator, 401, "Server: QRATOR",
		`<html><script src="/__qrator/qauth_utm_v2.js"></script><noscript>Enable scripts.</noscript></html>`},
	{"stackpath", StackPath, 200, "", page("Site verification",
		`<script src="/sbbi/?sbbpg=sbbShell&gprid=x"></script>Protected by StackPath`)},
	{"barracuda", Barracuda, 403, "", page("Barracuda Advanced Bot Protection", "Prove that you are no robot.")},
	{"wordfence block", Wordfence, 503, "", page(
		"Your access to this site has been limited by the site owner",
		"<p>Generated by Wordfence at 1 Jan. Block Reason: rate.")},
	{"go-away", GoAway, 200, "", page("Checking you are not a bot",
		`<link href="/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/assets/static/anubis/style.css"><p>Loading challenge <em>js-refresh</em>...`)},
	{"azure script challenge", Azure, 403, "X-Azure-Jschallenge: 1", page("Azure WAF", "")},
	{"azure without its header", Azure, 403, "X-Azure-Ref: 2024", page("Azure WAF", `<script src="/.azwaf/captcha/x.js"></script>`)},
	{"imunify360", Imunify360, 403, "Server: imunify360-webshield/1.21",
		page("One moment, please...", `<p>Access denied by Imunify360 bot-protection.`)},
	{"distil", Distil, 405, "X-Distil-Cs: MISS", page("Pardon Our Interruption", `<div id="distilIdentificationBlock"></div>`)},
	{"arvancloud", ArvanCloud, 200, "Server: ArvanCloud", page("Transferring to the website...",
		`<script>function __arcsjsc(){}</script><script src="/__arcsjs/x.js"></script>`)},
	{"an hcaptcha page of nobody known", Other, 403, "", page("Security check",
		`<div class="h-captcha"></div><script src="https://js.hcaptcha.com/1/api.js"></script><p>Please confirm.`)},
	{"a recaptcha page of nobody known", Other, 200, "", page("Are you a robot?",
		`<form method="post"><div class="g-recaptcha"></div><textarea name="g-recaptcha-response" style="display:none"></textarea><input type="submit"></form><script src="https://www.google.com/recaptcha/api.js"></script>`)},
}

// words is a text of so many words.
func words(n int) string { return strings.Repeat("word ", n) }

// links are so many links.
func links(n int) string { return strings.Repeat(`<a href="/x">x</a> `, n) }

// doors are answers that have something of a wall and are none.
var doors = []struct {
	name   string
	status int
	header string
	body   string
}{
	{"plain 403", 403, "Server: nginx", page("403 Forbidden", "<h1>403 Forbidden</h1>nginx")},
	{"plain 403 of Apache", 403, "Server: Apache", page("403 Forbidden", "You don't have permission to access this resource.")},
	{"plain 403 behind cloudflare", 403, "Server: cloudflare\nCf-Ray: 1", page("403 Forbidden", "<h1>403 Forbidden</h1>")},
	{"plain 403 behind akamai", 403, "Akamai-Grn: 0.1", page("Forbidden", "You don't have permission to access this page")},
	{"plain 401", 401, "Www-Authenticate: Basic", page("401", "Log in.")},
	{"plain 429", 429, "Retry-After: 10", "Too many requests"},
	{"429 of an API behind cloudflare", 429, "Server: cloudflare\nContent-Type: application/json", `{"error":"rate limit"}`},
	{"maintenance", 503, "Retry-After: 600", page("Maintenance", "We are back soon.")},
	{"maintenance behind cloudflare", 503, "Server: cloudflare", page("Just a moment", "We are back soon.")},
	{"cloudflare 502", 502, "Server: cloudflare", page("a.test | 502: Bad gateway", `<div id="cf-error-details">Error 502</div>`)},
	{"cloudflare 522", 522, "Server: cloudflare", page("a.test | 522: Connection timed out", `<div id="cf-error-details">Error</div>`)},
	{"page of a measured site, cloudflare", 200, "Server: cloudflare", page("Shop",
		`<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`+words(60))},
	{"page of a measured site, imperva", 200, "X-Cdn: Imperva",
		page("Shop", `<script src="/_Incapsula_Resource?SWJIYLWA=719d34"></script>`+words(60))},
	{"page of a measured site, datadome", 200, "X-Datadome: protected",
		page("Shop", `<script src="https://js.datadome.co/tags.js"></script>`+words(60))},
	{"page of a measured site, human", 200, "", page("Shop",
		`<script>window._pxAppId='PX1'</script><script src="https://client.perimeterx.net/PX1/main.min.js"></script>`+
			words(60))},
	{"page of a measured site, kasada", 200, "X-Kpsdk-Ct: x", page("Shop", words(60))},
	{"page of a measured site, aws", 200, "", page("Shop", `<script src="https://ab.awswaf.com/ab/challenge.js"></script>`+words(60))},
	{"page of a measured site, f5", 200, "Server: BigIP", page("Bank", `<script src="/TSPD/?type=20"></script>`+words(60))},
	{"page behind sucuri", 200, "Server: Sucuri/Cloudproxy\nX-Sucuri-Id: 1", page("Blog", words(60))},
	{"page behind ddos-guard", 200, "Server: ddos-guard", page("Forum", words(60))},
	{"page behind qrator", 200, "Server: QRATOR", page("News", words(60))},
	{"page behind fastly", 200, "X-Served-By: cache-fra-1", page("Docs", words(60))},
	{"page behind vercel", 200, "Server: Vercel", page("App", words(20))},
	{"article about cloudflare's challenge", 200, "",
		page("Just a moment... what Cloudflare's page means",
			"<p>The page sets <code>_cf_chl_opt</code> and links to /cdn-cgi/styles/challenges.css. "+
				words(600))},
	{"article about datadome", 200, "", page("How DataDome works",
		"<p>Its captcha is at geo.captcha-delivery.com and ct.captcha-delivery.com. "+words(600))},
	{"article about anubis", 200, "", page("Making sure you're not a bot!",
		`<p>Anubis serves /.within.website/x/cmd/anubis/ and an element id="anubis_challenge". `+
			words(500))},
	{"article about incapsula", 200, "", page("Incapsula incident ID",
		"<p>Request unsuccessful. Incapsula incident ID: 1 is what you see. "+words(600))},
	{"questions about F5", 200, "", page("Request Rejected",
		"<p>The requested URL was rejected. Please consult with your administrator. "+
			"Your support ID is: 1. "+
			words(500))},
	{"index of a forum about walls", 200, "", page("Access to this page has been denied", links(40)+`<p>id="px-captcha" window._pxAppId`)},
	{"log-in with turnstile", 200, "Server: cloudflare", page("Log in",
		`<form><input type="text" name="u"><input type="password" name="p"><div class="cf-turnstile"></div></form><script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>`)},
	{"log-in with recaptcha, refused", 403, "", page("Security check: log in",
		`<form><input type="password" name="p"></form><script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"comment form with hcaptcha", 200, "", page("A post", words(50)+
		`<form><textarea name="comment"></textarea><div class="h-captcha"></div></form><script src="https://js.hcaptcha.com/1/api.js"></script>`)},
	{"contact form with recaptcha", 200, "", page("Contact: not a robot, please",
		`<form><input type="email"><textarea name="message"></textarea></form><script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"demo of a captcha", 200, "", page("hCaptcha demo", words(120)+`<script src="https://js.hcaptcha.com/1/api.js"></script>`)},
	{"403 with a search form", 403, "", page("Access denied",
		`<form action="/search"><input type="search" name="q"></form><script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"missing page of a site with a captcha", 404, "", page("Not found", `<script src="https://www.google.com/recaptcha/api.js"></script>`)},
	{"empty page", 200, "", ""},
	{"empty 403", 403, "Server: cloudflare", ""},
	{"202 of an API", 202, "Content-Type: application/json", `{"status":"accepted"}`},
	{"script of a product", 200, "Content-Type: application/javascript", `window.KPSDK={};window.gokuProps={}`},
	{"redirect with a leftover header", 302, "Cf-Mitigated: challenge", ""},
	{"not modified", 304, "", ""},
	{"blog with Wordfence in its footer", 200, "", page("Blog", words(80)+"Protected by Wordfence, a security plugin")},
	{"single-page application without text", 200, "Server: cloudflare", page("App",
		`<div id="root"></div><script src="/app.js"></script><noscript>You need to enable JavaScript to run this app.</noscript>`)},
	{"refusal of a Spring application", 403, "", page("Access Denied", "<p>You don't have permission to access this function.")},
	{"page moved by a script", 200, "", page("Redirecting...", `<script>location.replace("/en/")</script><a href="/en/">go on</a>`)},
	{"other title of a wall alone", 200, "", page("Just a moment...", "<p>The song Just a moment... "+words(30))},
	{"large page with marks", 403, "", page("Access to this page has been denied",
		`<div id="px-captcha"></div><!-- `+strings.Repeat("x", maxBody)+"-->")},
}

// TestWalls: each wall is recognised, with its product.
func TestWalls(t *testing.T) {
	t.Parallel()
	products := map[Product]bool{}
	for _, tc := range walls {
		products[tc.want] = true
		if got := Of(answerOf(tc.status, tc.header, tc.body)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if len(walls) < 40 || len(products) < 20 {
		t.Errorf("%d walls of %d products", len(walls), len(products))
	}
}

// TestDoors: what looks like a wall and is none is taken for none.
func TestDoors(t *testing.T) {
	t.Parallel()
	for _, tc := range doors {
		if got := Of(answerOf(tc.status, tc.header, tc.body)); got != None {
			t.Errorf("%s: %q, want none", tc.name, got)
		}
	}
	if len(doors) < 40 {
		t.Errorf("%d answers", len(doors))
	}
}

// TestTable: each row can decide, has a source, and its fields are written as a header has them.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[Product]bool{}
	for i := range table {
		r := &table[i]
		name := r.product.String()
		if seen[r.product] || r.product <= Other {
			t.Errorf("%s: twice, or no product", name)
		}
		if seen[r.product] = true; r.source == "" || len(r.date) != len("2026-01-01") {
			t.Errorf("%s: without a source or its date", name)
		}
		most, inPage := 2, append(append([]mark{}, r.code...), r.says...) // a hint and an error status
		for _, b := range inPage {
			most += b.weight
		}
		if len(r.titles) > 0 {
			most += r.titles[0].weight
		}
		for _, b := range inPage {
			if len(b.text) < anchor || b.weight < 1 {
				t.Errorf("%s: mark %q", name, b.text)
			}
		}
		if len(r.outright) == 0 && most < decides {
			t.Errorf("%s: its marks never decide", name)
		}
		for _, f := range append(append([]field{}, r.outright...), r.hints...) {
			if http.CanonicalHeaderKey(f.name) != f.name {
				t.Errorf("%s: field %q", name, f.name)
			}
		}
		for _, m := range r.titles {
			if strings.ToLower(m.text) != m.text {
				t.Errorf("%s: title %q is not in lower case", name, m.text)
			}
		}
	}
	if len(builtIn.marks.needles)+maxOwn*maxRowMarks > maxNeedles || len(table)+maxOwn > maxRows {
		t.Error("more marks than finder.in has room for")
	}
	if len(table) < 20 {
		t.Errorf("%d rows", len(table))
	}
}

// TestNames: a name stands for its product, and a number of a later release for other.
func TestNames(t *testing.T) {
	t.Parallel()
	for p := Other; p < numProducts; p++ {
		if p.String() == "" || Named(p.String()) != p {
			t.Errorf("%d: %q stands for %d", p, p, Named(p.String()))
		}
	}
	if None.String() != "" || Named("") != None || Named("nobody") != None ||
		Product(MaxProducts).String() != "other" {
		t.Error("names of no product")
	}
	if numProducts > MaxProducts {
		t.Error("more products than a store has room for")
	}
}

// TestDocumentation: pages of real documentation are no walls, whatever the status that serves
// them. The pages are those of packages that the build installs; without them there is nothing to
// judge.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	judged := 0
	for _, pattern := range []string{
		"/usr/share/doc/debian-policy/*.html", "/usr/share/doc/debian-policy/*.html/*.html",
		"/usr/share/doc/postgresql-doc-*/html/*.html",
		"/usr/share/doc/sqlite3-doc/*.html", "/usr/share/doc/sqlite3-doc/*/*.html",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			body, err := os.ReadFile(name)
			if err != nil {
				continue // a folder
			}
			judged++
			for _, status := range []int{200, 403, 503} {
				if p := Of(answerOf(status, "Server: cloudflare\nCf-Ray: 1", string(body))); p != None {
					t.Errorf("%s with status %d: %q", name, status, p)
				}
			}
		}
	}
	if judged == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("none of debian-policy, postgresql-doc and sqlite3-doc is installed")
		}
		t.Skip("needs debian-policy, postgresql-doc or sqlite3-doc")
	}
	t.Logf("%d pages", judged)
}

// FuzzOf: no answer makes the decision fail, and what decides is not changed by more content that
// makes the page too large.
func FuzzOf(f *testing.F) {
	for _, tc := range walls {
		f.Add(tc.status, tc.header, []byte(tc.body))
	}
	for _, tc := range doors {
		f.Add(tc.status, tc.header, []byte(tc.body))
	}
	f.Add(200, "", []byte("<title"))
	f.Add(403, "", []byte("<script><"))
	f.Fuzz(func(t *testing.T, status int, header string, body []byte) {
		a := answerOf(status, header, string(body))
		p := Of(a)
		if p >= numProducts || p != Of(a) {
			t.Errorf("%d", p)
		}
		a.Body = append(bytes.Clone(body), make([]byte, maxBody)...)
		if q := Of(a); q != None && q != builtIn.outright(a) {
			t.Errorf("a page of %d bytes is the wall of %s", len(a.Body), q)
		}
		if p != None && status >= 300 && status < 400 {
			t.Errorf("a redirect is the wall of %s", p)
		}
	})
}

// BenchmarkOf judges an ordinary page of 20 KB.
func BenchmarkOf(b *testing.B) {
	for name, body := range map[string]string{
		"links":    page("Docs", strings.Repeat(`<p>Some <a href="/x">text</a> of a page.`, 500)),
		"no links": page("Docs", strings.Repeat(`<p>Some <b class="y">text</b> of a page.`, 500)),
	} {
		a := answerOf(200, "Server: nginx\nContent-Type: text/html", body)
		b.Run(fmt.Sprintf("%s, %d bytes", name, len(body)), func(b *testing.B) {
			for b.Loop() {
				if Of(a) != None {
					b.Fatal("it is no wall")
				}
			}
		})
	}
}
