package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/config"
	"crawlnode/node"
)

// banner tells a person what they have started and what they can do next. The
// commands run as they stand there, from the same directory.
func (s *session) banner(info node.Info) {
	http, scheme := client.Reachable(info.HTTP), "http://"
	var key []string
	if file := s.cfg.ClusterKeyFile; file != "" {
		scheme, key = "https://", []string{"--cluster-key-file", file}
	}
	own := ownCommand(s.env.Executable)
	rows := [][2]string{
		{"node", info.Name + " (" + info.ID + ")"},
		{"cluster", info.Cluster},
		{"dashboard", scheme + http + "/"},
		{"api", scheme + http + "/status"},
		{"gossip", info.Gossip},
		{"rpc", info.RPC},
		{"data", fmt.Sprintf("%s (%s free)", info.DataDir, plaintext.Bytes(info.FreeBytes))},
		{"security", info.Secure},
	}
	if s.cfg.Contact == "" && len(s.cfg.AllowNet) == 0 && len(s.cfg.Join) == 0 {
		rows = append(rows, [2]string{"contact",
			"none: unless the cluster has one, seeds are refused; start it with --contact MAIL|URL"})
	}
	rows = append(rows, [][2]string{
		{"add a node", commandLine(append([]string{own}, s.another(info)...)...)},
		{"add work", commandLine(append([]string{own, "seeds", "add", "https://example.org/", "--addr", http}, key...)...)},
		{"stop", commandLine("kill", strconv.Itoa(os.Getpid()))},
	}...)
	var b strings.Builder
	fmt.Fprintf(&b, "crawlnode %s\n", plaintext.Escape(s.env.Version))
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-11s %s\n", r[0], plaintext.Escape(r[1]))
	}
	fmt.Fprint(s.env.Stderr, b.String())
}

// another is the command line of one more node, without the program.
func (s *session) another(info node.Info) []string {
	var args []string
	next := nextName(info.Name)
	if next != "" {
		args = append(args, "--name", next)
	}
	if s.cfg.DataDir != "" { // the environment or the file may say it to the other one too
		args = append(args, "--data-dir", nextDir(s.cfg.DataDir, next))
	}
	return append(append(args, "--join", info.Gossip), s.carried...)
}

// nextName counts a name up, n1 to n2; "" where it does not end in a number: the
// node then finds a name by itself.
func nextName(name string) string {
	stem := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(stem):])
	if stem == "" || err != nil {
		return ""
	}
	return stem + strconv.Itoa(n+1)
}

// nextDir is a directory beside dir for the node of that name.
func nextDir(dir, name string) string {
	if name == "" {
		return filepath.Clean(dir) + "-2"
	}
	return filepath.Join(filepath.Dir(filepath.Clean(dir)), name)
}

// ownCommand is what a person types for this program here.
func ownCommand(path string) string {
	base := filepath.Base(path)
	if found, err := exec.LookPath(base); err == nil && sameFile(found, path) {
		return base
	}
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsAbs(path) &&
		!strings.HasPrefix(rel, "..") {
		return "." + string(os.PathSeparator) + rel
	}
	return path
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// commandLine writes arguments as a shell reads them.
func commandLine(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = config.InShell(a)
	}
	return strings.Join(quoted, " ")
}
