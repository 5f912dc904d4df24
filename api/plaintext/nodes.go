package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"crawlnode/crawl"
)

// WriteNodes lists nodes with the ids that orders may use. Strings are escaped as in WriteStatus.
func WriteNodes(w io.Writer, nodes []crawl.NodeStatus) error {
	return writeNodeTable(w, nodes, "NODE\tID\tSTATE\tSEEN\tHELD\tREPLICA\tLEASE\tRPC\tHTTP",
		func(n *crawl.NodeStatus) []string {
			cells := []string{n.Name, string(n.ID), n.State + placeText(n), ago(n.AgeSeconds)}
			cells = append(cells, figures(n, known(n.Partitions.Held), known(n.Partitions.Replica))...)
			return append(cells, seconds(n.LeaseRemainingSeconds), n.RPC, n.HTTP)
		})
}

// WriteNodesWide is WriteNodes with all that is known of a node.
func WriteNodesWide(w io.Writer, nodes []crawl.NodeStatus) error {
	const columns = "NODE\tID\tSTATE\tSEEN\tVERSION\tPID\tUPTIME\tHELD\tREPLICA\tQUEUED\tPAGES\tPAGES/S\tBUSY\tMEMORY\tDISK FREE\tARCHIVE FREE\tLEASE\tWEIGHT\tZONE\tGOSSIP\tRPC\tHTTP\tPAUSED"
	return writeNodeTable(w, nodes, columns, func(n *crawl.NodeStatus) []string {
		pid, version, zone, paused := unknown, unknown, "-", "-"
		if n.Zone != nil {
			zone = *n.Zone
		}
		if n.PID != nil {
			pid = fmt.Sprint(*n.PID)
		}
		if n.Version != nil {
			version = *n.Version
		}
		if n.PausedReason != nil {
			paused = *n.PausedReason
		}
		cells := []string{n.Name, string(n.ID), n.State, ago(n.AgeSeconds), version, pid,
			seconds(n.UptimeSeconds)}
		cells = append(cells,
			figures(n, known(n.Partitions.Held), known(n.Partitions.Replica), known(n.Queued),
				known(n.PagesTotal), rate(n.PagesPerSecond), busyText(n), knownBytes(n.RSSBytes))...)
		return append(cells, knownBytes(n.DiskFreeBytes), knownBytes(n.WARCDiskFreeBytes),
			seconds(n.LeaseRemainingSeconds), fmt.Sprint(n.Weight), zone, n.Gossip, n.RPC, n.HTTP, paused)
	})
}

// writeNodeTable writes a line for each node, in columns.
func writeNodeTable(
	w io.Writer,
	nodes []crawl.NodeStatus,
	columns string,
	cells func(*crawl.NodeStatus) []string,
) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, columns)
	for i := range nodes {
		line := cells(&nodes[i])
		for k := range line {
			line[k] = Escape(line[k])
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	_ = t.Flush() // into memory
	_, err := w.Write(b.Bytes())
	return err
}
