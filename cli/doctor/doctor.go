package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/node/preflight"
)

// Verb looks for what keeps a node from working.
type Verb struct {
	command.AllSettings `embed:""`
	Addr                string `group:"cluster" placeholder:"ADDR" help:"A running node of the cluster to ask as well (default: what answers at --http)."`
	Format              string `name:"output" short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"text or json."`
}

// Help gives the examples of the verb and says what it looks at.
func (*Verb) Help() string {
	return command.Examples("crawlnode doctor --join 127.0.0.1:27296",
		"crawlnode doctor --name n1 --contact me@example.org -o json") + `

Give it the flags that the node is started with. It looks at the settings, the
ports, the open-file limit, the data directory and its disks, the name servers,
the contact, the indexes of --dedupe-against, the key and the secrets; of each
address of --join whether it answers over both ways of gossip, whether its calls
do, whether the clocks agree, and whether it hears this node. It changes nothing, before the first start and beside a running
node. The exit code is 0 when nothing fails; 4 when only the cluster does; else 1.`
}

// The levels of a finding.
const (
	LevelOK   = "ok"
	LevelWarn = "warn" // it works, but not as well as it could
	LevelFail = "fail"
)

// Finding is one thing that was looked at.
type Finding struct {
	Area  string `json:"area"` // settings, node, disk, dns, politeness, security or cluster
	What  string `json:"what"`
	Level string `json:"level"` // LevelOK...
	Found string `json:"found"`
	Do    string `json:"do"` // "" when there is nothing to do
}

// Diagnosis is all that was found.
type Diagnosis struct {
	OK       bool      `json:"ok"` // nothing fails
	Findings []Finding `json:"findings"`
}

func (d *Diagnosis) add(area, what, level, found, do string) {
	d.Findings = append(d.Findings, Finding{area, what, level, found, do})
}

// code is the exit code.
func (d *Diagnosis) code() int {
	code := command.ExitOK
	for _, f := range d.Findings {
		switch {
		case f.Level != LevelFail:
		case f.Area != "cluster":
			return command.ExitError
		default:
			code = command.ExitCluster
		}
	}
	return code
}

// Run checks everything and prints the findings.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	cfg, wrong := v.Load(env, v.Flags())
	d := &Diagnosis{Findings: []Finding{}}
	d.checkSettings(wrong)
	dir, name := dataDirOf(&cfg)
	data := preflight.InspectData(dir)
	d.checkPorts(&cfg, data)
	d.checkFiles(cfg.Fetchers)
	d.checkData(dir, name, data)
	d.checkDisk(dir, data.Begun)
	d.checkOtherVolumes(preflight.OtherVolumes(dir), preflight.FreeBytes)
	d.checkNames(ctx, cfg.DNS)
	d.checkContact(&cfg)
	d.checkDedupe(&cfg)
	d.checkSecrets(&cfg)
	d.checkKey(&cfg)
	if !d.failed("cluster key") {
		d.checkPeers(ctx, &cfg, data.HTTP, v.Addr)
	}
	d.OK = d.code() == command.ExitOK
	if err := v.write(env, d); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return d.code()
}

// failed says whether the check of that name failed.
func (d *Diagnosis) failed(what string) bool {
	for _, f := range d.Findings {
		if f.What == what && f.Level == LevelFail {
			return true
		}
	}
	return false
}

// checkSettings tells what is wrong with the settings, one finding for each.
func (d *Diagnosis) checkSettings(wrong error) {
	if wrong == nil {
		d.add("settings", "settings", LevelOK, "valid", "")
		return
	}
	for line := range strings.SplitSeq(wrong.Error(), "\n") {
		d.add("settings", "settings", LevelFail, line,
			"correct it; crawlnode config print --origin tells where each setting comes from")
	}
}

// dataDirOf is the data directory of a node with these settings, and its name.
func dataDirOf(cfg *config.Config) (dir, name string) {
	if name = cfg.Name; name == "" {
		host, _ := os.Hostname() // without one it is "node"
		name = config.NameFrom(host)
	}
	return cfg.DataDirFor(name), name
}

// write writes the findings as text, the bad ones with what to do below them, or as JSON.
func (v *Verb) write(env *command.Env, d *Diagnosis) error {
	if v.Format == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(d)
	}
	t := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	bad := 0
	for _, f := range d.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, plaintext.Escape(f.What), plaintext.Escape(f.Found))
		if f.Level != LevelOK && f.Do != "" {
			fmt.Fprintf(t, "\t\t-> %s\n", plaintext.Escape(f.Do))
		}
		if f.Level == LevelFail {
			bad++
		}
	}
	if bad == 0 {
		fmt.Fprintln(t, "\nnothing keeps this node from working")
	} else {
		fmt.Fprintf(t, "\n%d of %d checks fail\n", bad, len(d.Findings))
	}
	return t.Flush()
}
