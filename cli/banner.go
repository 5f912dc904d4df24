package cli

import (
	"fmt"
	"net"
	"os"
	"strings"

	"crawlnode/api"
	"crawlnode/node"
)

// banner tells a person what they have started and what they can do next.
func (s *session) banner(info node.Info) {
	http := reachable(info.HTTP)
	base, key := "http://"+http, ""
	if file := s.cfg.ClusterKeyFile; file != "" {
		base, key = "https://"+http, " --cluster-key-file "+file
	}
	own := s.env.Executable
	if i := strings.LastIndexByte(own, '/'); i >= 0 {
		own = own[i+1:]
	}
	rows := [][2]string{
		{"node", info.Name + " (" + info.ID + ")"},
		{"cluster", info.Cluster},
		{"dashboard", base + "/"},
		{"api", base + "/status"},
		{"gossip", info.Gossip},
		{"rpc", info.RPC},
		{"data", fmt.Sprintf("%s (%s free)", info.DataDir, api.Bytes(info.FreeBytes))},
		{"security", info.Secure},
		{"add a node", own + " --name NAME --join " + info.Gossip + key},
		{"add work", own + " seeds add URL --addr " + http + key},
		{"stop", fmt.Sprintf("Ctrl-C, or kill %d", os.Getpid())},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "crawlnode %s\n", api.Escape(s.env.Version))
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-11s %s\n", r[0], api.Escape(r[1]))
	}
	fmt.Fprint(s.env.Stderr, b.String())
}

// reachable turns a listener's address into one that can be dialled from here.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
