// Package redistest starts Redis servers for tests and benchmarks.
//
//   - Embedded starts a miniredis inside the test's process, and a client that reaches
//     it by a pipe.
//   - Real, RealCluster and RealSentinels start redis-server processes, or those
//     of ProgramEnv. The test is skipped if there is no redis-server in PATH; see
//     RequireEnv.
//   - Shared is a database of a redis-server that the tests of a program share, and
//     SharedCluster a cluster on which each has a Prefix. CloseShared ends both.
//   - Start, StartCluster and StartSentinels do the same without a test. The caller closes
//     the returned servers.
//
// Servers listen on free ports of 127.0.0.1 and write to temporary folders. On
// Linux they end even if the test is killed.
//
// The package does not know the limiters or their models.
package redistest
