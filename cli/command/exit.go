package command

// The exit codes. ExitMeanings explains them to people.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitStorage     = 3
	ExitCluster     = 4
	ExitInterrupted = 5
	ExitSafety      = 6
	ExitForced      = 130
)

// ExitMeanings are the exit codes in order.
var ExitMeanings = []struct {
	Code    int
	Meaning string
}{
	{ExitOK, "done, or a limit that the user set was reached"},
	{ExitError, "an error that has no code of its own"},
	{ExitUsage, "flags, settings or seeds"},
	{ExitStorage, "the data directory or the disk"},
	{ExitCluster, "joining or keeping a cluster, or an order that it refuses"},
	{ExitInterrupted, "interrupted before the end; the same command goes on"},
	{ExitSafety, "a limit that keeps the machine safe: the disk is nearly full, and stays so; with space there again the same command goes on"},
	{ExitForced, "forced by a second signal; everything is on disk"},
}
