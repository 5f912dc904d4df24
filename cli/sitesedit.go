package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// sitesEditVerb has the rules edited: it runs the person's editor and waits for its end.
type sitesEditVerb struct {
	remote `embed:""`
}

// Help gives the examples of the verb and says which editor it is.
func (*sitesEditVerb) Help() string {
	return command.Examples("crawlnode sites edit",
		"EDITOR='code --wait' crawlnode sites edit --addr 127.0.0.1:27305") + `

The editor is $VISUAL, else $EDITOR, else vi. What it leaves is set on all nodes, if
it differs, and if nobody else has changed the rules meanwhile. When it is refused,
your text stays in a file, whose name is told.`
}

// Run reads the rules, has them edited, and sets them.
func (v *sitesEditVerb) Run(ctx context.Context, env *Env) int {
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		before, err := c.Sites(ctx)
		if err != nil {
			return err
		}
		file, err := spillSites(before)
		if err != nil {
			return err
		}
		after, err := editedSites(ctx, env, file)
		if err == nil && after == before {
			_, err = fmt.Fprintln(env.Stdout, "nothing was changed")
			return errors.Join(err, os.Remove(file))
		}
		if err == nil {
			err = setSites(ctx, env, c, after, crawl.SitesTag(before))
		}
		if err != nil {
			return fmt.Errorf("%w\nyour text is in %s: mend it, then crawlnode sites set %s",
				err, file, file)
		}
		return os.Remove(file)
	})
}

// spillSites writes the rules into a file of its own.
func spillSites(text string) (name string, err error) {
	f, err := os.CreateTemp("", "crawlnode-sites-*.yaml")
	if err != nil {
		return "", fmt.Errorf("making a file to edit: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("making a file to edit: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// editedSites runs the editor on a file and returns what it leaves. The editor is a command with
// arguments, so a shell reads it; it uses the terminal of this process.
func editedSites(ctx context.Context, env *Env, file string) (string, error) {
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if value, ok := env.Lookup(name); ok && value != "" {
			editor = value
		}
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor %q failed: %w", editor, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading what the editor has left: %w", err)
	}
	return string(text), nil
}
