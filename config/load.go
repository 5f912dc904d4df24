package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds a settings file and an exclude file.
const maxFileBytes = 8 << 20

// Input has the sources of a Config.
type Input struct {
	// Flags holds the values of the command line; only those named in Given count.
	Flags Config
	Given map[string]bool
	// Env looks up one environment variable; nil: there are none.
	Env func(string) (string, bool)
	// File is the path of a YAML file, or "".
	File string
	// Default changes the defaults, before all other sources; nil: no change.
	Default func(*Config)
}

// Load combines the sources, reads the exclude files and validates. The error lists every problem,
// one per line.
func Load(in Input) (Config, error) {
	c, from, problems := layer(in)
	problems = append(problems, c.readExcludeFiles()...)
	if err := c.checkRenderAlone(from); err != nil {
		problems = append(problems, err)
	}
	if err := c.Focus.read(); err != nil {
		problems = append(problems, err)
	}
	if err := c.Sites.read(); err != nil {
		problems = append(problems, err)
	}
	if err := c.Validate(); err != nil {
		problems = append(problems, err)
	}
	return c, errors.Join(problems...)
}

// layer combines the sources, without reading the files that settings name, and notes the origin of
// each setting that is not a default.
func layer(in Input) (Config, origins, []error) {
	c, from := Default(), origins{}
	if in.Default != nil {
		in.Default(&c)
	}
	var problems []error
	if in.File != "" {
		problems = append(problems, c.applyFile(in.File, from)...)
	}
	if in.Env != nil {
		problems = append(problems, c.applyEnv(in.Env, from)...)
	}
	given := fieldsOf(&in.Flags)
	for i, f := range fieldsOf(&c) {
		if in.Given[f.name] {
			f.value.Set(given[i].value)
			from[f.name] = origin{OriginFlag, "--" + f.name}
		}
	}
	if len(c.Derive) == 1 && c.Derive[0] == "none" { // the name of the default
		c.Derive = nil
	}
	return c, from, problems
}

// applyEnv applies the environment variables.
func (c *Config) applyEnv(lookup func(string) (string, bool), from origins) []error {
	var problems []error
	for _, f := range fieldsOf(c) {
		text, ok := lookup(EnvName(f.name))
		if !ok || text == "" {
			continue
		}
		if err := f.set(f.split(text)); err != nil {
			problems = append(problems, fmt.Errorf("%s (for --%s): %w", EnvName(f.name), f.name, err))
			continue
		}
		from[f.name] = origin{OriginEnvironment, EnvName(f.name)}
	}
	return problems
}

// applyFile applies a YAML file.
func (c *Config) applyFile(path string, from origins) []error {
	text, err := readFile(path)
	if err != nil {
		return []error{fmt.Errorf("--config: %w: give a YAML file that this user can read", err)}
	}
	lines, problems := c.applyYAML(text)
	for name, line := range lines {
		from[name] = origin{OriginFile, fmt.Sprintf("%s:%d", path, line)}
	}
	for i, err := range problems {
		problems[i] = fmt.Errorf("%s: %w", path, err)
	}
	return problems
}

// applyYAML applies one YAML document: a mapping from flag names, without dashes, to a value or a
// list of values. It returns the line of each name.
func (c *Config) applyYAML(text []byte) (lines map[string]int, problems []error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil // an empty file sets nothing
	} else if err != nil {
		return nil, []error{fmt.Errorf("is not YAML: %w", err)}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, []error{errors.New("has more than one YAML document: keep the first")}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil // only comments
	}
	if root.Kind != yaml.MappingNode {
		return nil, []error{fmt.Errorf("line %d: the file must be a list of `name: value` lines",
			root.Line)}
	}
	byName := make(map[string]field)
	for _, f := range fieldsOf(c) {
		byName[f.name] = f
	}
	lines = make(map[string]int)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if err := applyKey(byName, lines, key, value); err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", key.Line, err))
		}
	}
	return lines, problems
}

// applyKey applies one line of the file.
func applyKey(byName map[string]field, seen map[string]int, key, value *yaml.Node) error {
	f, ok := byName[key.Value]
	if !ok {
		if s := Suggest(key.Value, Names()); s != "" {
			return fmt.Errorf("unknown key %q; did you mean %q?", key.Value, s)
		}
		return fmt.Errorf(
			"unknown key %q; the keys are the flags of `crawlnode start --help` without dashes", key.Value)
	}
	if line, twice := seen[key.Value]; twice {
		return fmt.Errorf("%q is already on line %d: remove one of them", key.Value, line)
	}
	seen[key.Value] = key.Line
	values, err := valuesOf(f, value)
	if err == nil {
		err = f.set(values)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key.Value, err)
	}
	return nil
}

// valuesOf reads a scalar or a list of scalars as it was written.
func valuesOf(f field, value *yaml.Node) ([]string, error) {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil, errors.New("has no value: write one or remove the line")
	case value.Kind == yaml.ScalarNode:
		return f.split(value.Value), nil
	case value.Kind == yaml.SequenceNode && f.list():
		values := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: the list may contain plain values only", item.Line)
			}
			values = append(values, item.Value)
		}
		return values, nil
	case f.list():
		return nil, errors.New("takes a value or a list of values")
	}
	return nil, errors.New("takes one plain value")
}

// readExcludeFiles adds the patterns of the exclude files to Exclude. Empty
// lines and lines that begin with # are skipped.
func (c *Config) readExcludeFiles() []error {
	var problems []error
	for _, path := range c.ExcludeFiles {
		patterns, err := ReadPatterns(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("--exclude-file: %w", err))
			continue
		}
		c.Exclude = append(slices.Clip(c.Exclude), patterns...)
	}
	return problems
}

// ReadPatterns reads the patterns of an exclude file: one a line.
func ReadPatterns(path string) (patterns []string, err error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	return patterns, nil
}

// readFile reads a whole file of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is longer than %v", path, Size(maxFileBytes))
	}
	return text, nil
}
