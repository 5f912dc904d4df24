package integration

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// exampleHost is the site of the README, and exampleIP the address that it gets in the container's
// network: one that the crawler does not block.
const (
	exampleHost = "docs.example.org"
	exampleIP   = "93.184.215.14"
)

// exampleSite serves https://docs.example.org/, and its name, in a network namespace.
type exampleSite struct {
	roots string // the certificate to trust, in a file

	mu    sync.Mutex
	first time.Time // when the first page was asked for
	pages int       // answered
}

// inSpace runs open in a network namespace: a socket belongs to the namespace in which it was made.
func inSpace(space string, open func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f, err := os.Open("/run/netns/" + space)
		if err == nil {
			err = errors.Join(enterNetwork(f), f.Close())
		}
		if err == nil {
			err = open()
		}
		done <- err
	}()
	return <-done
}

func serveExample(t *testing.T, space string) *exampleSite {
	t.Helper()
	var web net.Listener
	var names net.PacketConn
	if err := inSpace(space, func() (err error) {
		if web, err = net.Listen("tcp", exampleIP+":443"); err == nil {
			names, err = net.ListenPacket("udp", exampleIP+":53")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ca := newAuthority(t)
	s := &exampleSite{roots: ca.file}
	resolver := &dns.Server{PacketConn: names, Handler: dns.HandlerFunc(exampleName)}
	cert := ca.issue(&x509.Certificate{DNSNames: []string{exampleHost}}, ca)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}},
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = resolver.ActivateAndServe() })  // ends with its socket
	wg.Go(func() { _ = server.ServeTLS(web, "", "") }) // ends with Close
	t.Cleanup(func() {
		_, _ = server.Close(), names.Close()
		wg.Wait()
	})
	return s
}

// exampleName knows one name.
func exampleName(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	switch {
	case q.Question[0].Name != exampleHost+".":
		m.Rcode = dns.RcodeNameError
	case q.Question[0].Qtype == dns.TypeA:
		m.Answer = append(m.Answer, &dns.A{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300},
			A:   net.ParseIP(exampleIP),
		})
	}
	_ = w.WriteMsg(m) // who does not get it asks again
}

// ServeHTTP answers as a site of nine pages would.
func (s *exampleSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/guide/") {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.pages++
	if s.first.IsZero() {
		s.first = time.Now()
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>%s</title><p>A page of the guide.", r.URL.Path)
	for i := range 8 {
		fmt.Fprintf(w, `<a href="/guide/%d">chapter %d</a> `, i, i)
	}
}

func (s *exampleSite) seen() (first time.Time, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.pages
}

// freshContainer starts a container of a small Debian, in a network namespace, that has Go and the
// downloaded modules, and returns the command that enters it.
func freshContainer(t *testing.T, space, dir, roots string) []string {
	t.Helper()
	const rootfs = "../bin/_rootfs" // the go tool passes by a folder with such a name
	if _, err := os.Stat(rootfs + "/.complete"); err != nil {
		t.Fatalf("%v: 'make containers' makes it", err)
	}
	system, err := filepath.Abs(rootfs)
	if err != nil {
		t.Fatal(err)
	}
	goroot, modules := goEnv(t, "GOROOT"), goEnv(t, "GOMODCACHE")
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+exampleIP+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("crawlnode-fresh-%d", os.Getpid())
	t.Cleanup(func() {
		if out, err := exec.Command("podman", "rm", "-f", "-i", "-t", "0", name).CombinedOutput(); err !=
			nil {
			t.Errorf("podman rm: %v\n%s", err, out)
		}
	})
	tool(t, "", "podman", "run", "-d", "--name", name, "--network", "ns:/run/netns/"+space, "-v",
		dir+":"+dir, "-v", goroot+":/usr/local/go:ro",
		"-v", modules+":/root/go/pkg/mod:ro", "-v", resolv+":/etc/resolv.conf:ro", "-v",
		roots+":/etc/ssl/certs/ca-certificates.crt:ro",
		"-e", "HOME=/root", "-e", "GOPROXY=off", "-e", "GOTOOLCHAIN=local", "--rootfs", system+":O",
		"sleep", "infinity")
	return []string{"podman", "exec", name}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestContainersFresh is the first hour of a user, as far as a machine can have one: in a fresh
// container without a network, from `git clone` on, it types the README and the tutorial, word by
// word. The site of the README is there, under its name, with a certificate that the container
// trusts.
func TestContainersFresh(t *testing.T) {
	needsContainers(t)
	needsProcesses(t)
	needsEngine(t)
	l := newLab(t)
	inside, outside := l.space(l.add()), l.space(l.add())
	l.run("ip", "-n", outside, "addr", "add", exampleIP+"/32", "dev", "eth0")
	l.run("ip", "-n", inside, "route", "add", exampleIP+"/32", "dev", "eth0")
	site := serveExample(t, outside)
	dir := t.TempDir()
	tool(t, "", "git", "clone", "--quiet", "--bare", "--no-local", "..",
		filepath.Join(dir, "crawlnode.git"))

	r := &reader{t: t, dir: dir, wrap: freshContainer(t, inside, dir, site.roots),
		nodes:    map[string]*process{},
		patience: 15 * time.Minute,
		env: []string{
			"PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	began := time.Now()
	r.obey(command{
		where: "before the README",
		text:  "git clone --quiet " + dir + "/crawlnode.git crawlnode",
	})
	r.dir = filepath.Join(dir, "crawlnode")
	readme := consoleCommands(t, "../README.md")
	took := r.timed(readme, map[string]string{
		"make release": notRun["make release"],
		"make test":    "takes a quarter of an hour, and the network",
	})
	first, pages := site.seen()
	if pages < 9 {
		t.Errorf("the site of the README saw %d pages", pages)
	}
	// for what follows the usual ports are free
	r.obey(command{where: "between", text: "kill -9 $(cat crawlnode-data/n*/pid)"})

	r.dir = filepath.Join(dir, "tutorial")
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	tutorial := consoleCommands(t, "../docs/tutorial.md")
	r.walk("docs/tutorial.md", nil)
	appendResult(t, "firsthour.md", "", fmt.Sprintf("fresh container, "+
		"no network | clone to first page %v, of which make build %v and make demo %v; "+
		"README whole %v (%d commands), tutorial %v (%d commands) |",
		first.Sub(began).Round(time.Second), took["make build"].Round(time.Second),
		took["make demo"].Round(time.Second), at.Sub(began).Round(time.Second), len(readme),
		time.Since(at).Round(time.Second), len(tutorial)))
}
