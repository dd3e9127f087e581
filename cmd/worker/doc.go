// Worker delivers scheduled messages at their time, and keeps the rules that
// they are judged by.
package main
