package integration

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is one line of testdata/sites/manifest.json.
type site struct {
	Name    string `json:"site"`
	Package string `json:"package"`
	Deb     string `json:"deb"`
	Docroot string `json:"docroot"`
	Start   string `json:"start"`
	Pages   int    `json:"reachable_pages"`

	ip string // port 80, because the lists name none
}

func (s *site) host() string  { return s.Name + ".site.test" }
func (s *site) start() string { return "http://" + s.host() + s.Start }

// sites is a web server with the real sites and a name server that knows them.
type sites struct {
	all []site
	ip  string // of the sites that have no address of their own
	dns string
	log string
}

// startSites starts nginx on port 80 of an unused loopback address, and dnsmasq on a free port. It
// serves the real sites and the ones that are given.
func startSites(t *testing.T, more ...site) *sites {
	t.Helper()
	return serveSites(t, append(readManifest(t), more...))
}

// serveSites is startSites with these sites alone. One that has an address is served there, and
// nowhere else.
func serveSites(t *testing.T, all []site) *sites {
	t.Helper()
	needsPrograms(t, "nginx", "dnsmasq")
	dir := t.TempDir()
	s := &sites{all: all, ip: freeAddress(t), log: filepath.Join(dir, "access.log")}
	names := []string{"dnsmasq", "--address=/site.test/" + s.ip}
	for i := range s.all {
		site := &s.all[i]
		if site.ip == "" {
			site.ip = s.ip
		}
		names = append(names, fmt.Sprintf("--address=/%s/%s", site.host(), site.ip))
		if _, err := os.Stat(site.Docroot); err != nil {
			unable(t, "needs %s, which make deps installs: %v", site.Package, err)
		}
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(s.nginxConf(dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	nginx := spawn(t, "nginx", filepath.Join(dir, "nginx.log"), "nginx", "-p", dir, "-c", conf)
	port := freePort(t)
	s.dns = fmt.Sprint("127.0.0.1:", port)
	dnsmasq := spawn(t, "dnsmasq", filepath.Join(dir, "dnsmasq.log"),
		append(names, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
			"--no-hosts", "--user=", "--pid-file=", "--listen-address=127.0.0.1", "--bind-interfaces",
			fmt.Sprint("--port=", port), "--local-ttl=300")...)
	for _, server := range []struct {
		p    *process
		addr string
	}{{nginx, s.all[0].ip + ":80"}, {dnsmasq, s.dns}} {
		until(t, 10*time.Second, func() string {
			c, err := net.Dial("tcp", server.addr)
			if err != nil {
				return fmt.Sprintf("%s: %v\n%s", server.p.name, err, tail(server.p.log, 10))
			}
			_ = c.Close() // it was there, that is all
			return ""
		})
	}
	return s
}

// freeAddress finds a loopback address whose port 80 can be bound; a test is left out where this
// user may not.
func freeAddress(t *testing.T) string {
	t.Helper()
	var last error
	for range 20 {
		ip := fmt.Sprintf("127.53.%d.%d", rand.IntN(256), 1+rand.IntN(250))
		l, err := net.Listen("tcp", ip+":80")
		if err == nil {
			_ = l.Close() // nothing was served on it
			return ip
		}
		last = err
	}
	if errors.Is(last, syscall.EACCES) {
		unable(t,
			"needs root, or `sysctl net.ipv4.ip_unprivileged_port_start=80`: it serves sites at port 80: %v",
			last)
	}
	t.Fatalf("%v: something holds port 80 on all addresses; stop it", last)
	return ""
}

// walker is the user agent whose requests are not in nginx's log.
const walker = "walker"

func (s *sites) nginxConf(dir string) string {
	var b strings.Builder
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the folder of the test is its own
	}
	fmt.Fprintf(&b, `daemon off; master_process off; pid %[1]s/nginx.pid; error_log stderr; %[2]s
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types; default_type application/octet-stream;
  log_format arrival '$msec $request_time $host $status $remote_addr:$remote_port $request_method $request_uri';
  map $http_user_agent $judged { %[4]s 0; default 1; }
  access_log %[3]s arrival if=$judged;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
`, dir, user, s.log, walker)
	for _, site := range s.all {
		fmt.Fprintf(&b, "  server { listen %s:80; server_name %s; root %s; }\n", site.ip, site.host(),
			site.Docroot)
	}
	return b.String() + "}\n"
}

func readManifest(t *testing.T) []site {
	t.Helper()
	b, err := os.ReadFile("testdata/sites/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Sites []site }
	if err := json.Unmarshal(b, &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest.Sites
}

// list returns the pages that a correct crawl finds. If the installed package is another version
// than the list was made from, an independent walk makes a new list, and the log reports it.
func (s *sites) list(t *testing.T, site *site) []string {
	t.Helper()
	version, err := exec.Command("dpkg-query", "-W", "-f", "${Package}_${Version}",
		site.Package).Output()
	if err != nil {
		t.Fatalf("which version of %s is installed: %v", site.Package, err)
	}
	if !strings.HasPrefix(site.Deb, string(version)+"_") {
		t.Logf("%s is installed, the list of pages is of %s: walking the site for a new one", version,
			site.Deb)
		return s.walk(t, site, rfc3986)
	}
	f, err := os.Open(filepath.Join("testdata/sites", site.Name+".urls.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	urls := strings.Fields(string(b))
	if len(urls) != site.Pages {
		t.Fatalf("the list of %s has %d pages, the manifest says %d", site.Name, len(urls), site.Pages)
	}
	return urls
}

// expected returns the pages that crawlnode must find: the list, and what a
// browser would find beyond it, because crawlnode reads links as browsers do.
func (s *sites) expected(t *testing.T, site *site) []string {
	t.Helper()
	urls := s.list(t, site)
	listed := map[string]bool{}
	for _, u := range urls {
		listed[u] = true
	}
	for _, u := range s.walk(t, site, browser) {
		if !listed[u] {
			t.Logf("beyond the list, by a browser's reading of links: %s", u)
			urls = append(urls, u)
		}
	}
	return urls
}

// arrival is one line of nginx's log.
type arrival struct {
	host, uri, remote string
	status            int
	start, end        time.Duration // since the epoch; nginx knows milliseconds
}

// arrivals reads nginx's log.
func (s *sites) arrivals(t *testing.T) []arrival {
	t.Helper()
	f, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []arrival
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
			return all
		}
		fields := strings.SplitN(lines.Text(), " ", 7)
		if len(fields) != 7 {
			t.Fatalf("line of nginx's log: %q", lines.Text())
		}
		end, err1 := seconds(fields[0])
		took, err2 := seconds(fields[1])
		code, err3 := strconv.Atoi(fields[3])
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatalf("line of nginx's log: %q: %v", lines.Text(), err)
		}
		all = append(all, arrival{
			host:   fields[2],
			status: code,
			remote: fields[4],
			uri:    fields[6],
			start:  end - took,
			end:    end,
		})
	}
}

// seconds reads nginx's "seconds.milliseconds".
func seconds(s string) (time.Duration, error) {
	f, err := strconv.ParseFloat(s, 64)
	return time.Duration(math.Round(f*1000)) * time.Millisecond, err
}

// judgePoliteness checks the gaps in nginx's log: for each host, from each end
// to the next start at least delay. Both instants are rounded to a millisecond
// and taken from a clock that nginx reads once per turn of its loop, so 2 ms are
// forgiven. It returns the smallest gap.
func judgePoliteness(t *testing.T, all []arrival, delay time.Duration) time.Duration {
	t.Helper()
	const resolution = 2 * time.Millisecond
	byHost := map[string][]arrival{}
	for _, a := range all {
		byHost[a.host] = append(byHost[a.host], a)
	}
	smallest := time.Duration(math.MaxInt64)
	for host, list := range byHost {
		slices.SortStableFunc(list, func(a, b arrival) int { return int(a.start - b.start) })
		bad := 0
		for i := 1; i < len(list); i++ {
			gap := list[i].start - list[i-1].end
			smallest = min(smallest, gap)
			if gap < delay-resolution {
				if bad++; bad <= 5 {
					t.Errorf("%s: %v between %s and %s, want %v", host, gap, list[i-1].uri, list[i].uri, delay)
				}
			}
		}
		if bad > 5 {
			t.Errorf("%s: %d gaps too small in all", host, bad)
		}
	}
	return smallest
}

// httpClient returns a client for the sites that needs no name server.
func (s *sites) httpClient() *http.Client {
	return &http.Client{
		Timeout:       client.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
