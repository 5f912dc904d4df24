package focus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/config"
	model "crawlnode/focus"
)

// ScoreVerb shows scores.
type ScoreVerb struct {
	Model string   `arg:"" help:"A model that focus train has written."`
	Files []string `arg:"" optional:"" name:"file" help:"Pages: folders of HTML or text files, such files, or WARC files. None: the model describes itself."`
}

// Help gives the examples of the verb and says what it does.
func (*ScoreVerb) Help() string {
	return command.Examples("crawlnode focus score sql.focus page.html",
		"crawlnode focus score sql.focus crawlnode-data/n1/warc | sort -n") + `

A line for each page: its score, from 0 to 1, and its file or URL. --focus-min is
compared with these scores. The links of a page are judged by their own texts and
addresses too.`
}

// Run prints the scores.
func (v *ScoreVerb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	m, err := load(v.Model)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	if len(v.Files) == 0 {
		fmt.Fprint(env.Stdout, describe(m))
		return command.ExitOK
	}
	out := bufio.NewWriter(env.Stdout)
	line := command.NewProgress(env.Stderr)
	for _, source := range v.Files {
		err = pages(source, func(name string, p model.Page) error {
			if _, err := fmt.Fprintf(out, "%.3f  %s\n", m.Score(p.Title, p.Text),
				plaintext.Escape(name)); err != nil {
				return err
			}
			return interrupted(ctx)
		})
		if err = damaged(err, line); err != nil {
			break
		}
	}
	err = errors.Join(err, out.Flush())
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, errInterrupted):
		return env.Fail(command.ExitInterrupted, "interrupted")
	case errors.Is(err, errUse), errors.Is(err, os.ErrNotExist):
		return env.Fail(command.ExitUsage, "%v", err)
	}
	return env.Fail(command.ExitError, "%v", err)
}

// load reads a model. The error names the file.
func load(path string) (*model.Model, error) {
	topic, err := config.TopicFrom(path)
	if err != nil {
		return nil, err
	}
	return model.Decode(topic.Model)
}
