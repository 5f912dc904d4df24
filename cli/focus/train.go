package focus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	model "crawlnode/focus"
	"crawlnode/output/archive"
)

// TrainVerb makes a model.
type TrainVerb struct {
	Like   Sources `required:"" group:"scope" placeholder:"DIR|WARC" help:"Pages of the topic: folders of HTML or text files, such files, or WARC files. Several may follow, and the flag may be repeated."`
	Unlike Sources `required:"" group:"scope" placeholder:"DIR|WARC" help:"Pages that are not of the topic; those of --like among them do not count. A crawl without a topic is good."`
	Output string  `short:"o" required:"" group:"output" placeholder:"FILE" help:"The model: for --focus."`
	Seed   uint64  `group:"limits" placeholder:"N" default:"1" help:"Seed of the random order of learning; the same pages and seed give the same model."`
}

// Help gives the examples of the verb and says what it does.
func (*TrainVerb) Help() string {
	return command.Examples(
		"crawlnode focus train --like pages/sql --unlike pages/other -o sql.focus",
		"crawlnode focus train --like sql.warc.gz --unlike crawlnode-data/n1/warc -o sql.focus",
	) + `

Some hundred pages of each set are good, ten are the least; of more than ten
thousand the rest is left out. Any language will do. The other pages should be
such as the crawl will meet. What is printed was measured on pages that were not
learnt from: AUC is the probability that of two pages the one of the topic has the
higher score. Look at the words: names of the site, its menus and its dates among
them mean that the sets differ in more than the topic.

A score goes from 0 to 1; 0.5 is a page that is as much like the one set as like the
other. crawlnode start --focus FILE then crawls first what fits the topic best, and
with --focus-min follows no links of pages that fit it less than that.`
}

// errInterrupted ends reading and learning.
var errInterrupted = errors.New("interrupted")

// errFull ends the reading of a set that has model.MaxPages pages.
var errFull = errors.New("full")

// Run reads the pages, learns, writes the model and says how good it is.
func (v *TrainVerb) Run(ctx context.Context, env *command.Env) int {
	if _, err := command.PlaceOf(v.Output); err != nil { // before hours of reading
		return env.Fail(command.ExitStorage, "--output: %v", err)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	line := command.NewProgress(env.Stderr)
	m, t, err := v.train(ctx, line)
	line.End()
	switch {
	case err == nil:
	case errors.Is(err, errInterrupted):
		return env.Fail(command.ExitInterrupted,
			"interrupted; nothing was written: the same command begins anew")
	case errors.Is(err, errUse), errors.Is(err, model.ErrTooFew), errors.Is(err, os.ErrNotExist):
		return env.Fail(command.ExitUsage, "%v", err)
	default:
		return env.Fail(command.ExitError, "%v", err)
	}
	b := m.Encode()
	if err := write(v.Output, b); err != nil {
		return env.Fail(command.ExitStorage, "--output: %v", err)
	}
	fmt.Fprint(env.Stdout, dropped(t), describe(m))
	fmt.Fprintf(env.Stdout,
		"\nwrote %s, %s. To use it:\n  crawlnode focus score %[1]s PAGE.html\n"+
			"  crawlnode crawl URL --focus %[1]s\n",
		plaintext.Escape(v.Output), plaintext.Bytes(int64(len(b))))
	return command.ExitOK
}

// train reads both sets and learns.
func (v *TrainVerb) train(
	ctx context.Context,
	line *command.Progress,
) (*model.Model, *model.Trainer, error) {
	t := model.NewTrainer()
	for _, set := range [...]struct {
		like    bool
		flag    string
		sources Sources
	}{{true, "--like", v.Like}, {false, "--unlike", v.Unlike}} {
		for _, source := range set.sources {
			err := pages(source, func(_ string, p model.Page) error {
				if t.Add(set.like, p) == model.Full {
					return errFull
				}
				like, unlike := t.Pages()
				line.Draw("reading %s: %s pages of the topic, %s others", source, plaintext.Count(int64(like)),
					plaintext.Count(int64(unlike)))
				return interrupted(ctx)
			})
			if errors.Is(err, errFull) {
				break
			}
			if err = damaged(err, line); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", set.flag, err)
			}
		}
	}
	m, err := t.Train(model.Options{Seed: v.Seed, Progress: func(done, of int) error {
		line.Draw("learning: %d of %d", done, of)
		return interrupted(ctx)
	}})
	return m, t, err
}

func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// damaged tells of a torn or damaged WARC file: what is before the damage counts.
func damaged(err error, line *command.Progress) error {
	if damage, ok := errors.AsType[*archive.DamageError](err); ok && damage != nil {
		line.End()
		fmt.Fprintf(line, "crawlnode: %v; the records before it are used\n", err)
		return nil
	}
	return err
}

// write replaces the file: a reader sees the old model or the new one.
func write(path string, b []byte) error {
	path, err := command.PlaceOf(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".focus-*")
	if err != nil {
		return command.Unwritable(path, err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// dropped says which pages were left out.
func dropped(t *model.Trainer) string {
	var b strings.Builder
	for _, set := range [...]struct {
		like bool
		flag string
	}{{true, "--like"}, {false, "--unlike"}} {
		for _, why := range [...]struct {
			taken model.Taken
			text  string
		}{{model.Repeat, "with a text that was read before"}, {model.Empty, "without a text"}} {
			if n := t.Dropped(set.like, why.taken); n > 0 {
				fmt.Fprintf(&b, "left out of %s: %s %s\n", set.flag, plaintext.CountOf(int64(n), "page"),
					why.text)
			}
		}
		if t.Dropped(set.like, model.Full) > 0 {
			fmt.Fprintf(&b, "left out of %s: all behind the first %s pages\n", set.flag,
				plaintext.Count(model.MaxPages))
		}
	}
	return b.String()
}

// describe says what a model was made of and how good it is.
func describe(m *model.Model) string {
	i := m.Info()
	var b strings.Builder
	fmt.Fprintf(&b, "pages     %s of the topic, %s others\n", plaintext.Count(int64(i.Like)),
		plaintext.Count(int64(i.Unlike)))
	fmt.Fprintf(&b,
		"AUC       %.3f, accuracy %.3f, of pages that were not learnt from (cross-validation)\n", i.AUC,
		i.Accuracy)
	fmt.Fprintf(&b, "links     AUC %.3f, by title and address alone\n", i.LinkAUC)
	fmt.Fprintf(&b, "weights   %s\n", plaintext.Count(int64(i.Weights)))
	for _, side := range [...]struct {
		name string
		list []string
	}{{"for", i.For}, {"against", i.Against}} {
		fmt.Fprintf(&b, "%-9s %s\n", side.name, plaintext.Escape(strings.Join(side.list, ", ")))
	}
	return b.String()
}
