package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html"

	"crawlnode/simweb"
)

// serveOn serves at an address and port until the test ends.
func serveOn(t *testing.T, addr string, h http.Handler) *http.Server {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // until Close
	}()
	t.Cleanup(func() {
		_ = s.Close() // it has nothing to lose
		<-served
	})
	return s
}

// ownPorts are the flags of a node on free ports.
func ownPorts(t *testing.T) []string {
	t.Helper()
	return []string{"--http", fmt.Sprint("127.0.0.1:", freePort(t)), "--gossip",
		fmt.Sprint("127.0.0.1:", freePort(t)), "--rpc", fmt.Sprint("127.0.0.1:", freePort(t)),
		"--allow-net", "127.0.0.0/8", "--delay", "0s"}
}

// filesBelow are the files in a folder with their contents, without the manifest.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "manifest.jsonl" {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// png is a picture of two by three points.
const png = "\x89PNG\r\n\x1a\n" +
	"\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x03\x08\x02\x00\x00\x006\x88I\xd6\x00\x00\x00\x0fIDATx\xdac\xf8\xcf\xc0\x00G\xd8Y\x00C\xd3\x05\xfb\x0e\x8a<,\x00\x00\x00\x00IEND\xaeB`\x82"

// A site whose styles, pictures and scripts come from another host is crawled, and opened from disk
// when both servers are gone: it looks and works as it did.
func TestSavedPageInABrowser(t *testing.T) {
	needsProcesses(t)
	needsChromium(t)
	t.Parallel()
	port := freePort(t)
	site, cdn := fmt.Sprint("127.0.0.1:", port), fmt.Sprint("127.0.0.2:", port)
	svg :=
		`<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"><rect width="7" height="5" fill="red"/></svg>`
	home := `<!doctype html><html><head><base href="/start/"><link rel=stylesheet href="http://` +
		cdn + `/css/main.css?v=2" integrity="sha384-x" crossorigin>
		<script src="http://` + cdn +
		`/app" crossorigin=anonymous></script><style>h2 { color: rgb(4, 5, 6) }</style></head>
		<body><h1>Home</h1><h2>Second</h2><img id=a src="/logo?size=1"><img id=b srcset="http://` + cdn +
		`/drawing 1x"><a id=next href="../old#end">next</a>
		<a id=away href="http://` + cdn +
		`/page">away</a><p id=p style="background-image: url(/logo?size=1)">p</p></body></html>`
	answers := map[string][2]string{ // type and body, by host and path
		site + "/": {"text/html", home}, site + "/logo?size=1": {"image/png", png}, site +
			"/docs/": {"text/html; charset=utf-8", `<h1>Docs</h1><p id=end><a href="/">home</a>`},
		cdn + "/css/main.css?v=2": {
			"text/css",
			`@import "../more.css"; h1 { color: rgb(1, 2, 3) }`,
		}, cdn + "/more.css": {"text/css", `body { background-image: url(drawing) }`},
		cdn + "/app":     {"application/javascript", `document.title = "script ran"`},
		cdn + "/drawing": {"image/svg+xml", svg}, cdn + "/page": {"text/html", `<a href="/never">x</a>`},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.Host+r.URL.RequestURI()]
		switch {
		case r.URL.Path == "/old":
			http.Redirect(w, r, "/docs/", http.StatusFound)
		case !ok:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", a[0])
			_, _ = w.Write([]byte(a[1])) // the browser judges
		}
	})
	servers := []*http.Server{serveOn(t, site, handler), serveOn(t, cdn, handler)}
	out := filepath.Join(t.TempDir(), "site")
	code, stdout, errs := run(t, "",
		append([]string{"crawl", "http://" + site + "/", "--assets", "--output", out}, ownPorts(t)...)...)
	if code != 0 || !strings.Contains(stdout, "files: 7 files in "+out) {
		t.Fatalf("exit code %d\n%s%s\n%v", code, stdout, errs, filesBelow(t, out))
	}
	for _, s := range servers {
		_ = s.Close() // offline from here on
	}
	b := openTab(t)
	folder := fmt.Sprintf("127.0.0.1+%d", port)
	b.open("file://" + filepath.Join(out, folder, "index.html"))
	b.await(`document.readyState === "complete"`)
	for expression, want := range map[string]string{
		`getComputedStyle(document.querySelector("h1")).color`: "rgb(1, 2, 3)",
		`getComputedStyle(document.querySelector("h2")).color`: "rgb(4, 5, 6)",
		`document.title`: "script ran",
		`String(document.querySelector("#a").naturalWidth)`:                 "2",
		`String(document.querySelector("#b").naturalWidth)`:                 "7",
		`document.querySelector("#away").href`:                              "http://" + cdn + "/page",
		`getComputedStyle(document.body).backgroundImage.split("/").at(-1)`: `drawing.svg")`,
	} {
		var got string
		if b.js(expression, &got); got != want {
			t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	b.click("#next")
	if got := b.text("h1"); got != "Docs" {
		t.Errorf("the next page is %q", got)
	}
	var hash string
	if b.js("location.hash", &hash); hash != "#end" {
		t.Errorf("the fragment is %q", hash)
	}
	b.click("#end a")
	if got := b.text("h1"); got != "Home" {
		t.Errorf("the way back leads to %q", got)
	}
	b.silent("the saved pages")
}

// The command that writes files is killed again and again. Each time every line of the manifest is
// right, and in the end the files are those of a run that was left alone.
func TestFilesAfterKill(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         31,
		Hosts:        20,
		PagesPerHost: 60,
		PageBytes:    3000,
		Skew:         -1,
		Redirects:    20,
		Missing:      20,
	})
	base := t.TempDir()
	data, whole, killed := filepath.Join(base, "data"), filepath.Join(base, "whole"),
		filepath.Join(base, "killed")
	args := append([]string{"crawl", "--scope", "any", "--data-dir", data, "--output", whole, "--dns",
		srv.DNS.String(), "--contact", "me@example.org"}, ownPorts(t)...)
	if code, out, errs := run(t, "", append(args, web.Seeds()...)...); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	want := filesBelow(t, whole)
	kills := 0
	for round := 0; kills < 3 && round < 20; round++ {
		p := spawn(t, "export", filepath.Join(base, "export.log"), binary(t), "export", "files",
			"--data-dir", data, "--output", killed)
		enough := (kills + 1) * len(want) / 8
		until(t, time.Minute, func() string {
			select {
			case <-p.done:
				return ""
			default:
			}
			raw, _ := os.ReadFile(filepath.Join(killed, "manifest.jsonl"))
			if n := bytes.Count(raw, []byte("\n")); n < enough {
				return fmt.Sprintf("%d lines", n)
			}
			return ""
		})
		p.signal(syscall.SIGKILL)
		if p.exit(t, 10*time.Second) == 0 { // it was faster
			if err := os.RemoveAll(killed); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kills++
		checkFiles(t, killed)
	}
	if code, out, errs := run(t, "", "export", "files", "--data-dir", data, "--output",
		killed); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	checkFiles(t, killed)
	got := filesBelow(t, killed)
	if len(got) != len(want) || len(want) < 500 {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s differs", name)
		}
	}
	if kills == 0 {
		t.Error("it was never killed in 20 rounds")
	}
	t.Logf("%d files, %d kills", len(want), kills)
}

// checkFiles holds the files against the whole lines of the manifest.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string]string{}
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // the rest is not whole
		}
		var l struct {
			URL, File string
			Bytes     int64
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.File == "" {
			continue
		}
		if other, ok := files[l.File]; ok && other != l.URL {
			t.Errorf("%s is the file of %s and of %s", l.File, other, l.URL)
		}
		files[l.File] = l.URL
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(l.File))); err != nil ||
			info.Size() != l.Bytes {
			t.Errorf("%s: %v", l.File, err)
		}
	}
}

// A real site as wget -m -k -p -E saves it and as crawl --output does: we have every file that wget
// has, what is no page is the same to the byte, and no relative link of ours leads nowhere.
func TestFilesLikeWget(t *testing.T) {
	needsProcesses(t)
	wget, err := exec.LookPath("wget")
	if err != nil {
		unable(t, "needs wget, which make deps installs")
	}
	const policy = "/usr/share/doc/debian-policy"
	needsDocumentation(t, policy)
	t.Parallel()
	port := freePort(t)
	addr := fmt.Sprint("127.0.0.1:", port)
	serveOn(t, addr, http.FileServer(http.Dir(policy)))
	start := "http://" + addr + "/policy.html/index.html"
	base := t.TempDir()
	out := filepath.Join(base, "ours")
	begun := time.Now()
	code, stdout, errs := run(t, "",
		append([]string{"crawl", start, "--assets", "--output", out}, ownPorts(t)...)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, errs)
	}
	ourTime := time.Since(begun)
	begun = time.Now()
	cmd := exec.Command(wget, "-q", "-m", "-k", "-p", "-E", "--restrict-file-names=windows", start)
	cmd.Dir = base
	if err := cmd.Run(); err != nil {
		t.Logf("wget: %v", err) // it counts 404 as a failure
	}
	theirTime := time.Since(begun)
	theirs, ours := filesBelow(t, filepath.Join(base, fmt.Sprintf("127.0.0.1+%d", port))),
		filesBelow(t, filepath.Join(out, fmt.Sprintf("127.0.0.1+%d", port)))
	same := 0
	for name, content := range theirs {
		mine, ok := ours[name]
		switch {
		case !ok:
			t.Errorf("wget has %s, we have not", name)
		case mine == content:
			same++
		case path.Ext(name) != ".html" && path.Ext(name) != ".css":
			t.Errorf("%s differs", name)
		}
	}
	if len(theirs) < 30 {
		t.Errorf("wget has %d files only", len(theirs))
	}
	checkFileLinks(t, out)
	t.Logf("%d files in %v, wget %d in %v, %d the same to the byte", len(ours), ourTime, len(theirs),
		theirTime, same)
}

var sheetURL = regexp.MustCompile(`url\("?([^")]*)"?\)`)

// checkFileLinks follows each relative link in the pages and style sheets of a folder.
func checkFileLinks(t *testing.T, dir string) {
	t.Helper()
	files := filesBelow(t, dir)
	links := 0
	for name, content := range files {
		var refs []string
		switch path.Ext(name) {
		case ".css":
			for _, m := range sheetURL.FindAllStringSubmatch(content, -1) {
				refs = append(refs, m[1])
			}
		case ".html":
			refs = references(content)
		}
		for _, ref := range refs {
			u, err := url.Parse(ref)
			if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
				continue
			}
			if links++; !slices.Contains([]string{"", "/"}, u.RawQuery) ||
				files[path.Join(path.Dir(name), u.Path)] == "" {
				t.Errorf("%s: %q leads nowhere", name, ref)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links", links)
	}
}

// references are the href and src attributes of a page.
func references(content string) []string {
	var refs []string
	z := html.NewTokenizer(strings.NewReader(content))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return refs
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range z.Token().Attr {
				if a.Key == "href" || a.Key == "src" {
					refs = append(refs, a.Val)
				}
			}
		}
	}
}
