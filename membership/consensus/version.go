package consensus

// ProtocolVersion numbers the messages between nodes and the copies that they send to
// each other. Nodes of different versions do not share a cluster: gossip and the calls
// between nodes refuse each other, and name both versions. Raise it when a node of the
// release before could not do everything that one of this release asks of it, or would
// not understand a copy. docs/decisions/0140-versions.md lists the changes of each
// version.
const ProtocolVersion = 5
