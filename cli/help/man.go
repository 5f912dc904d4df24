package help

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
)

// ManVerb prints the manual page, crawlnode(1), for man and for packages.
type ManVerb struct {
	app *kong.Application
}

// SetModel takes the model of the command line, which the page describes.
func (v *ManVerb) SetModel(app *kong.Application) { v.app = app }

// Help gives the examples of the verb.
func (*ManVerb) Help() string {
	return command.Examples("crawlnode man | man -l -",
		"crawlnode man > /usr/local/share/man/man1/crawlnode.1")
}

// Run prints the page.
func (v *ManVerb) Run(_ context.Context, env *command.Env) int {
	if _, err := env.Stdout.Write(manPage(v.app, env.Version, pageDate(env.Lookup))); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return command.ExitOK
}

// pageDate is the day that the page names: that of SOURCE_DATE_EPOCH, by which builds that can be
// repeated are told their time, else that of the commit that the program was built from; "" if
// neither is known. It is never the day on which the page is made.
func pageDate(lookup func(string) (string, bool)) string {
	if text, ok := lookup("SOURCE_DATE_EPOCH"); ok {
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return at.UTC().Format(time.DateOnly)
			}
		}
	}
	return ""
}

// manPage is the manual page in the macros of man(7).
func manPage(app *kong.Application, version, date string) []byte {
	p := &page{}
	// the date is read by man and must not be changed
	fmt.Fprintf(p, ".TH CRAWLNODE 1 \"%s\" \"crawlnode %s\" \"User Commands\"\n", date, roff(version))
	p.macro("SH", "NAME")
	p.text("crawlnode - a peer-to-peer web crawler")
	p.macro("SH", "SYNOPSIS")
	p.macro("B", "crawlnode")
	p.text("[VERB] [ARGUMENT ...] [FLAG ...]")
	p.macro("SH", "DESCRIPTION")
	p.text(app.Help)
	p.paragraph("Without a verb it is start. crawlnode VERB --help says the same as this page. " +
		"All state is on disk: to go on, run the same command again.")
	p.macro("SH", "COMMANDS")
	start := app.DefaultCmd
	for _, v := range app.Leaves(true) {
		p.verb(v, start)
	}
	p.macro("SH", "EXIT STATUS")
	for _, e := range command.ExitMeanings {
		p.entry(fmt.Sprint(e.Code), "", e.Meaning)
	}
	p.macro("SH", "SIGNALS")
	p.entry("SIGTERM, SIGINT", "", "The first drains: open fetches finish, "+
		"partitions go to the others, everything is flushed. The second stops at once.")
	p.entry("SIGHUP", "", "A node reads its settings again.")
	p.macro("SH", "ENVIRONMENT")
	p.text("Every flag FLAG of start is also a variable CRAWLNODE_FLAG, " +
		"in capitals and with _ for -, and a key of the file of --config. " +
		"The flag wins over the variable, the variable over the file.")
	p.macro("SH", "FILES")
	p.entry("crawlnode-data/NAME", "", "What a node stores, unless --data-dir names another folder: "+
		"pid, addresses, the frontier, warc/ and derived/.")
	p.macro("SH", "EXAMPLES")
	lines, _ := SplitDetail(app.Detail)
	p.examples(lines)
	p.macro("SH", "SEE ALSO")
	p.text(
		"The folder docs of the release, above all getting-started.md, operations.md and outputs.md.")
	return p.Bytes()
}

// page is a manual page that is being written.
type page struct{ bytes.Buffer }

// macro writes a line that begins with a dot. An argument with spaces is quoted.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(roff(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// text writes running text; an empty line in it begins a paragraph.
func (p *page) text(text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			p.macro("PP")
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'"): // it would be a macro
			p.WriteString(`\&` + roff(line) + "\n")
		default:
			p.WriteString(roff(line) + "\n")
		}
	}
}

func (p *page) paragraph(text string) {
	p.macro("PP")
	p.text(text)
}

// entry is a term, which may have a value, and what it means.
func (p *page) entry(term, value, meaning string) {
	p.WriteString(".TP\n" + `\fB` + roff(term) + `\fR`)
	if value != "" {
		p.WriteString(` \fI` + roff(value) + `\fR`)
	}
	p.WriteByte('\n')
	p.text(cmp.Or(meaning, "-"))
}

// examples are command lines as they are typed.
func (p *page) examples(lines []string) {
	p.macro("nf")
	for _, line := range lines {
		p.WriteString("    " + roff(line) + "\n")
	}
	p.macro("fi")
}

// verb describes one verb. Flags that mean the same as for start are only named.
func (p *page) verb(v, start *kong.Node) {
	p.macro("SS", "crawlnode "+v.Summary())
	p.text(v.Help)
	lines, more := SplitDetail(v.Detail)
	p.macro("PP")
	p.examples(lines)
	if more != "" {
		p.paragraph(more)
	}
	for _, arg := range v.Positional {
		p.entry(arg.Summary(), "", arg.Help)
	}
	var asStart []string
	for _, f := range v.Flags {
		switch {
		case f.Hidden || f.Name == "help":
		case v != start && slices.ContainsFunc(start.Flags,
			func(s *kong.Flag) bool { return s.Name == f.Name && s.Help == f.Help }):
			asStart = append(asStart, "--"+f.Name)
		default:
			p.flag(f)
		}
	}
	if len(asStart) > 0 {
		p.paragraph("As for start: " + strings.Join(asStart, ", ") + ".")
	}
}

func (p *page) flag(f *kong.Flag) {
	name, value := "--"+f.Name, ""
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	if !f.IsBool() {
		value = cmp.Or(f.Tag.PlaceHolder, strings.ToUpper(f.Name))
	}
	p.entry(name, value, WithDefault(f.Value))
}

// roff makes text safe. A hyphen stays the character that can be typed.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\t", " ").Replace(text)
}
