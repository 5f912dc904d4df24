package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"crawlnode/api/plaintext"
	"crawlnode/config"
	"crawlnode/node/network"
	"crawlnode/node/preflight"
	"crawlnode/security/keyfile"
	"crawlnode/security/secrets"
	"crawlnode/web/cdx"
)

// checkPorts looks whether the three addresses are free, or whose they are.
func (d *Diagnosis) checkPorts(cfg *config.Config, data preflight.DataState) {
	usual := config.Default()
	for _, a := range [...]struct{ flag, addr, usual string }{
		{"http", cfg.HTTP, usual.HTTP}, {"gossip", cfg.Gossip, usual.Gossip},
		{"rpc", cfg.RPC, usual.RPC}} {
		level, advice := LevelWarn, "nothing: unless it was given, the node takes another one"
		if a.addr != a.usual { // so it was given, and stays
			level, advice = LevelFail, "give another --"+a.flag+", or leave it out: then a free one is taken"
		}
		what := "port of --" + a.flag
		err := bindable(a.addr, a.flag == "gossip")
		pid, name := 0, ""
		if errors.Is(err, syscall.EADDRINUSE) {
			pid, name = network.PortOwner(a.addr)
		}
		switch {
		case err == nil:
			d.add("node", what, LevelOK, a.addr+" is free", "")
		case !errors.Is(err, syscall.EADDRINUSE):
			d.add("node", what, LevelFail, err.Error(),
				"give --"+a.flag+" an address of this machine that you may listen on")
		case data.PID > 0 && pid == data.PID:
			d.add("node", what, LevelOK, fmt.Sprintf("%s is in use by this node, process %d", a.addr, pid),
				"")
		case pid > 0:
			d.add("node", what, level, fmt.Sprintf("%s is in use by process %d (%s)", a.addr, pid, name),
				"end that process, or "+advice)
		default:
			d.add("node", what, level, a.addr+" is in use by a process that this user may not see", advice)
		}
	}
}

// bindable tries to listen at an address, over UDP too if that is wanted.
func bindable(addr string, udp bool) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	if !udp {
		return nil
	}
	u, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		return err
	}
	return u.Close()
}

// baseFiles is what a node has open beside its fetches: the store's tables, the
// archive, listeners and peers.
const baseFiles = 512

// checkFiles compares the limit of open files with what the fetchers need: a
// connection each, and as many idle ones.
func (d *Diagnosis) checkFiles(fetchers int) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		d.add("node", "open files", LevelWarn, err.Error(), "look at ulimit -n")
		return
	}
	need := uint64(2*fetchers + baseFiles)
	found := fmt.Sprintf("at most %d; --fetchers %d needs some %d", limit.Max, fetchers, need)
	if limit.Max < need { // the runtime raises the soft limit to the hard one
		d.add("node", "open files", LevelFail, found,
			fmt.Sprintf("ulimit -n %d (LimitNOFILE= in a systemd unit), or fewer --fetchers", need))
		return
	}
	d.add("node", "open files", LevelOK, found, "")
}

// checkData looks whether a node can use the data directory.
func (d *Diagnosis) checkData(dir, name string, data preflight.DataState) {
	found := fmt.Sprintf("%s, of %s", dir, name)
	switch {
	case data.Err != nil:
		d.add("disk", "data directory", LevelFail, data.Err.Error(), "give another --data-dir")
	case data.PID > 0:
		d.add("disk", "data directory", LevelOK, fmt.Sprintf("%s, in use by process %d", found, data.PID),
			"")
	case data.Exists:
		d.add("disk", "data directory", LevelOK, found+", free to be used", "")
	default:
		d.add("disk", "data directory", LevelOK, found+", is made at the first start", "")
	}
}

// Bounds of a disk that is good enough.
const (
	littleSpace = 2 << 30               // one archive file and the store's own needs
	slowSync    = 50 * time.Millisecond // the store syncs once a second, a hand-over more often
)

// checkDisk measures the free space and the time of a sync, in the data directory
// or the nearest one above it that is there. begun: a node has data there.
func (d *Diagnosis) checkDisk(dir string, begun bool) {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	if free, err := preflight.FreeBytes(dir); err != nil {
		d.add("disk", "free space", LevelFail, err.Error(), "give a --data-dir that this user can reach")
	} else {
		d.judgeSpace(dir, free, begun)
	}
	switch took, err := timeSync(dir); {
	case err != nil:
		d.add("disk", "sync", LevelFail, err.Error(), "give a --data-dir in which this user can write")
	case took > slowSync:
		d.add("disk", "sync", LevelWarn, fmt.Sprintf("64 KiB in %v", took.Round(time.Millisecond)),
			"a disk of the machine itself is faster; leave --sync off")
	default:
		d.add("disk", "sync", LevelOK, fmt.Sprintf("64 KiB in %v", took.Round(10*time.Microsecond)), "")
	}
}

// judgeSpace says whether free bytes at dir are enough. A node without data needs more to begin
// than one with data to go on.
func (d *Diagnosis) judgeSpace(dir string, free int64, begun bool) {
	found := fmt.Sprintf("%s at %s", plaintext.Bytes(free), dir)
	switch {
	case !begun && free < preflight.NewNodeBytes:
		d.add("disk", "free space", LevelFail, found+": a new node would not start",
			fmt.Sprintf("free at least %s, or give a --data-dir on another disk",
				plaintext.Bytes(preflight.NewNodeBytes)))
	case free < preflight.LowDiskBytes:
		d.add("disk", "free space", LevelFail, found+": the node would not fetch",
			"free at least "+plaintext.Bytes(2*preflight.LowDiskBytes))
	case free < littleSpace:
		d.add("disk", "free space", LevelWarn, found, "the node pauses below "+
			plaintext.Bytes(preflight.LowDiskBytes)+": a larger volume lets it crawl longer")
	default:
		d.add("disk", "free space", LevelOK, found, "")
	}
}

// checkOtherVolumes looks at folders of the data directory that have volumes of their own, as an
// archive may: a node pauses for them as it does for its data directory. free asks for free bytes.
func (d *Diagnosis) checkOtherVolumes(paths []string, free func(path string) (int64, error)) {
	for _, path := range paths {
		what := "free space for " + filepath.Base(path)
		bytes, err := free(path)
		found := fmt.Sprintf("%s at %s, a volume of its own", plaintext.Bytes(bytes), path)
		const writable = 2 // access(2)
		switch {
		case err != nil:
			d.add("disk", what, LevelFail, err.Error(), "mount the volume again, or remove the link "+path)
		case syscall.Access(path, writable) != nil:
			d.add("disk", what, LevelFail, found+": this user may not write there", "chown or remount "+path)
		case bytes < preflight.LowDiskBytes:
			d.add("disk", what, LevelFail, found+": the node would not fetch",
				"free at least "+plaintext.Bytes(2*preflight.LowDiskBytes)+" there")
		case bytes < littleSpace:
			d.add("disk", what, LevelWarn, found, "the node pauses below "+
				plaintext.Bytes(preflight.LowDiskBytes)+": a larger volume lets it crawl longer")
		default:
			d.add("disk", what, LevelOK, found, "")
		}
	}
}

// timeSync is the median time in which a small write reaches the disk.
func timeSync(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".crawlnode-doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 64<<10)
	var times []time.Duration
	for range 5 {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// checkNames asks each name server for the root's name servers.
func (d *Diagnosis) checkNames(ctx context.Context, servers []string) {
	from := "--dns"
	if len(servers) == 0 {
		from = "/etc/resolv.conf"
		conf, err := dns.ClientConfigFromFile(from)
		if err != nil || len(conf.Servers) == 0 {
			d.add("dns", "name servers", LevelFail, from+" names none", "name some with --dns IP:PORT")
			return
		}
		for _, s := range conf.Servers {
			servers = append(servers, net.JoinHostPort(s, conf.Port))
		}
	}
	client := dns.Client{Timeout: 3 * time.Second}
	good := 0
	var silent []Finding
	for _, server := range servers {
		question := new(dns.Msg).SetQuestion(".", dns.TypeNS)
		answer, took, err := client.ExchangeContext(ctx, question, server)
		what := "name server " + server
		switch {
		case err != nil:
			silent = append(silent, Finding{"dns", what, LevelFail, err.Error(),
				"correct " + from + ", or open UDP and TCP port 53 to it"})
		case answer.Rcode == dns.RcodeRefused:
			silent = append(silent, Finding{"dns", what, LevelWarn, "it refuses to answer this machine",
				"use one that serves this network"})
		default:
			good++
			d.add("dns", what, LevelOK, fmt.Sprintf("answers in %v", took.Round(10*time.Microsecond)), "")
		}
	}
	for _, f := range silent {
		if good > 0 {
			f.Level = LevelWarn // the others do its work
		}
		d.Findings = append(d.Findings, f)
	}
}

// checkContact checks that sites can contact the operator.
func (d *Diagnosis) checkContact(cfg *config.Config) {
	switch {
	case cfg.Contact != "":
		d.add("politeness", "contact", LevelOK, cfg.Contact, "")
	case len(cfg.Join) > 0:
		d.add("politeness", "contact", LevelOK, "none of its own: a joiner takes over the cluster's", "")
	case len(cfg.AllowNet) > 0:
		d.add("politeness", "contact", LevelOK, "none: only --allow-net can be crawled", "")
	default:
		d.add("politeness", "contact", LevelFail, "none: nothing can be fetched",
			"say whom a site may ask: --contact me@example.org")
	}
}

// checkKey looks at the key of the cluster and who can read it.
func (d *Diagnosis) checkKey(cfg *config.Config) {
	const what = "cluster key"
	if cfg.ClusterKeyFile == "" {
		switch {
		case cfg.Insecure:
			d.add("security", what, LevelWarn,
				"none, with --insecure: whoever reaches the ports can command the node",
				"make one with crawlnode keygen and give it to every node")
		default: // beyond loopback the settings are not valid without one
			d.add("security", what, LevelOK, "none; loopback only", "")
		}
		return
	}
	if _, err := keyfile.LoadAccess(cfg.ClusterKeyFile); err != nil {
		d.add("security", what, LevelFail, err.Error(),
			"make one with crawlnode keygen, or copy the cluster's, with mode 0600")
		return
	}
	if info, err := os.Stat(cfg.ClusterKeyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		d.add("security", what, LevelWarn,
			fmt.Sprintf("%s can be read by its group (mode %04o)", cfg.ClusterKeyFile, info.Mode().Perm()),
			"chmod 600 "+cfg.ClusterKeyFile)
		return
	}
	d.add("security", what, LevelOK, cfg.ClusterKeyFile+", for its owner alone", "")
}

// checkDedupe looks whether the indexes of --dedupe-against can be read, up to a first capture.
func (d *Diagnosis) checkDedupe(cfg *config.Config) {
	for _, path := range cfg.DedupeAgainst {
		what := "index " + path
		switch first, err := firstCapture(path); {
		case err != nil:
			d.add("disk", what, LevelFail, err.Error(),
				"give --dedupe-against an index such as one of crawlnode export cdxj")
		case first == nil:
			d.add("disk", what, LevelWarn, "it has no capture", "look whether it is the right file")
		default:
			d.add("disk", what, LevelOK,
				"readable; its first capture is of "+plaintext.Cut(first.URL), "")
		}
	}
}

// firstCapture reads an index up to its first capture; nil: it has none.
func firstCapture(path string) (*cdx.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, err := cdx.NewReader(f)
	if err != nil {
		return nil, err
	}
	first, err := r.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return &first, err
}

// checkSecrets looks at the file of --secrets, and at the cookie files that the rules for sites
// name.
func (d *Diagnosis) checkSecrets(cfg *config.Config) {
	const what = "secrets"
	if cfg.Secrets == "" && cfg.Sites.Text == "" && len(cfg.Webhooks) == 0 {
		return
	}
	set, err := secrets.Load(cfg.Secrets)
	if cfg.Secrets != "" && err != nil {
		d.add("security", what, LevelFail, err.Error(), "mend the file of --secrets")
		return
	}
	if len(cfg.Webhooks) > 0 {
		if cfg.Secrets == "" {
			d.add("security", what, LevelWarn,
				"webhooks are sent without a signature: anybody could send such events to their receivers",
				"name a file with --secrets that has a line webhook=VALUE")
			return
		}
		if v, _ := set.Lookup("webhook"); v.Reveal() == "" {
			d.add("security", what, LevelFail, "there is no secret named webhook in "+cfg.Secrets+
				", and --webhook needs it: the node does not start",
				"add a line webhook=VALUE")
			return
		}
	}
	var missing []string
	file, problems := config.ParseSites(cfg.Sites.Text, nil)
	if len(problems) > 0 { // told with the settings
		return
	}
	for _, name := range file.Secrets() {
		if cfg.Secrets == "" {
			missing = append(missing, name)
		} else if _, ok := set.Lookup(name); !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		d.add("security", what, LevelWarn, "rules for sites name secrets that this node lacks: "+
			strings.Join(missing, ", "), "add a line NAME=VALUE for each to the file of --secrets")
		return
	}
	found := "the rules for sites name none"
	if cfg.Secrets != "" {
		found = fmt.Sprintf("%d in %s, for its owner alone", len(set.Names()), cfg.Secrets)
	}
	d.add("security", what, LevelOK, found, "")
}
