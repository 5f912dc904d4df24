package crawldoc

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Refusal is an error about flags that the crawl cannot take over.
type Refusal struct{ Reason error }

// Error says which flags, and why not.
func (r Refusal) Error() string { return r.Reason.Error() }

// Unwrap returns the reason.
func (r Refusal) Unwrap() error { return r.Reason }

// Flags are the flags of this start, beside the document of the crawl.
type Flags struct {
	Self     crawl.NodeID
	Name     string
	Dir      string // the data directory
	HTTP     string // where this node answers
	Version  string // of the program
	Config   *config.Config
	Given    []string // those that were chosen, as config.Given tells
	Document *Store
	// Partitions and Replication are the cluster's own settings; 0: they are not known yet.
	Partitions, Replication int
}

// Warn tells, in one line, which of the flags count for nothing. In another it names those of the
// browser while the crawl shows no page to one: they may wait for a change of that.
func (f *Flags) Warn(log *slog.Logger) {
	if idle := f.idle(); len(idle) > 0 {
		log.Info("flags of this start wait: the crawl shows no page to a browser",
			"flags", strings.Join(idle, ", "), "to_change", f.changeCommand([]string{"render=auto"}))
	}
	overruled := f.overruled()
	if len(overruled) == 0 {
		return
	}
	var flags, changes []string
	for _, o := range overruled {
		flags = append(flags, o.String())
		if o.Live {
			changes = append(changes, o.Changes()...)
		}
	}
	advice := "these cannot be changed for this crawl; another one needs another --data-dir"
	if len(changes) > 0 {
		advice = f.changeCommand(changes)
	}
	log.Warn("flags of this start do not count: the crawl keeps the settings that it has",
		"flags", strings.Join(flags, ", "), "to_change", advice)
}

// idle are the flags of a browser that has nothing to do.
func (f *Flags) idle() []string {
	book := f.Document.Current()
	if book.Doc.Settings.Renders() || book.Pipeline.Sites.Renders() {
		return nil
	}
	var idle []string
	ofBrowser := config.NodeSettings("render")
	for _, name := range f.Given {
		if slices.Contains(ofBrowser, name) {
			idle = append(idle, "--"+name)
		}
	}
	return idle
}

// overruled are the settings that were given to this node and that the crawl has otherwise.
func (f *Flags) overruled() []config.Overruled {
	stored := f.Document.Current().Doc.Settings
	overruled := f.Config.Overruled(f.Given, &stored, f.Version)
	if f.Partitions > 0 {
		founding := f.Config.OverruledByFounding(f.Given, f.Partitions, f.Replication)
		overruled = append(overruled, founding...)
	}
	return overruled
}

// Adopt makes the given settings those of the crawl, and returns what has changed in the words of
// the command line. The error is a Refusal when one was given that cannot change.
func (f *Flags) Adopt(now time.Time) (changed []string, err error) {
	var live []config.Overruled
	var fixed []string
	for _, o := range f.overruled() {
		if o.Live {
			live, changed = append(live, o), append(changed, o.Change())
		} else {
			fixed = append(fixed, o.String())
		}
	}
	if len(fixed) > 0 {
		return nil, Refusal{fmt.Errorf("%s: it cannot change for a crawl that has begun: leave it out, "+
			"or give another --data-dir to begin another crawl", strings.Join(fixed, ", "))}
	}
	if len(live) == 0 {
		return nil, nil
	}
	var refused error
	_, err = f.Document.Change(func(d *Document) *Document {
		s, err := config.Adopt(live, &d.Settings, f.Version)
		if err != nil {
			refused = Refusal{err}
			return nil
		}
		return d.With(s, f.Self, now)
	})
	if refused != nil {
		return nil, refused
	}
	return changed, err
}

// changeCommand is what a person types to change the crawl's settings through this node.
func (f *Flags) changeCommand(changes []string) string {
	command := f.Config.ChangeCommand(changes, f.HTTP)
	if f.Config.ExitWhenDone {
		command += fmt.Sprintf(" (while it runs; so that it stays: crawlnode --name %s --data-dir %s)",
			config.InShell(f.Name), config.InShell(f.Dir))
	}
	return command
}
