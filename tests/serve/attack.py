#!/usr/bin/env python3
"""Attacks on caucus serve, and what must survive them.

Usage: attack.py PATH-TO-CAUCUS-SERVE SOURCE-DIR
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server, allow_descriptors

SERVE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
TOWN = (SOURCE / "examples" / "town.soi").read_bytes()
# More sweeps than anyone waits for.
LONG = {"family": "dpm", "options": {"sweeps": "100000000"}}


class Attacks(unittest.TestCase):
    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)  # the last of all: servers end first, and write no more
        self.folder = pathlib.Path(self.room.name) / "project"

    def serve(self, *flags):
        server = Server(SERVE, self.folder, *flags)
        self.addCleanup(server.end)
        return server

    def test_who_may_ask(self):
        server = self.serve()
        host = f"127.0.0.1:{server.port}"
        self.assertEqual(server.ask("GET", "/api/project")[0], 200)
        for token in (None, "", "x", server.token[:-1], server.token + "a", "a" * 32):
            for method, path in (("GET", "/api/project"), ("POST", "/api/jobs"), ("POST", "/api/uploads?name=a"), ("GET", "/api/events"), ("DELETE", "/api/jobs/a")):
                self.assertEqual(server.ask(method, path, token=token)[0], 401, (token, path))
        self.assertEqual(server.ask("GET", "/api/project?token=" + server.token, token=None)[0], 401)
        for name in ("evil.example", "127.0.0.1", f"evil.example:{server.port}", "127.0.0.1:1", f"127.0.0.1.evil.example:{server.port}"):
            self.assertEqual(server.ask("GET", "/", headers={"Host": name})[0], 403, name)
            self.assertEqual(server.ask("GET", "/api/project", headers={"Host": name})[0], 403, name)
        for origin in ("http://evil.example", "null", f"https://{host}", "http://127.0.0.1", ""):
            self.assertEqual(server.ask("GET", "/api/project", headers={"Origin": origin})[0], 403, origin)
        self.assertEqual(server.ask("GET", "/api/project", headers={"Origin": f"http://{host}"})[0], 200)
        self.assertEqual(server.ask("GET", "/api/project", headers={"Host": f"localhost:{server.port}"})[0], 200)
        for site in ("cross-site", "same-site", "none"):
            self.assertEqual(server.ask("GET", "/api/project", headers={"Sec-Fetch-Site": site})[0], 403, site)
        self.assertEqual(server.ask("OPTIONS", "/api/project")[0], 405)

    def test_listens_on_this_machine_alone(self):
        server = self.serve()
        with open("/proc/net/tcp", encoding="ascii") as table:
            listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
        self.assertIn(f"0100007F:{server.port:04X}", listening)
        self.assertNotIn(f"00000000:{server.port:04X}", listening)

    def test_another_address(self):
        wrong = subprocess.run([SERVE, str(self.folder), "--address", "example.org"], capture_output=True, text=True, timeout=60)
        self.assertEqual((wrong.returncode, wrong.stdout), (64, ""), wrong)
        self.assertIn("'example.org' is no address", wrong.stderr)
        server = self.serve("--address", "127.0.0.2")
        self.assertEqual(server.address, "127.0.0.2")
        self.assertEqual(server.ask("GET", "/api/project")[0], 200)
        self.assertEqual(server.ask("GET", "/api/project", headers={"Host": f"127.0.0.1:{server.port}"})[0], 403)
        with self.assertRaises(ConnectionRefusedError):
            server.ask("GET", "/", at="127.0.0.1")
        server.end()
        # Every address of the machine: each goes by itself, and no name does but those given.
        server = self.serve("--address", "0.0.0.0", "--host-name", "caucus.example", "--host-name", "proxy.example:8443")
        self.assertEqual(server.address, "localhost")
        for at in ("127.0.0.1", "127.0.0.3"):
            self.assertEqual(server.ask("GET", "/api/project", at=at)[0], 200)
            self.assertEqual(server.ask("GET", "/api/project", at=at, token=None)[0], 401)
        self.assertEqual(server.ask("GET", "/", at="127.0.0.1", headers={"Host": f"127.0.0.3:{server.port}"})[0], 403)
        self.assertEqual(server.ask("GET", "/", at="127.0.0.1", headers={"Host": f"evil.example:{server.port}"})[0], 403)
        self.assertEqual(server.ask("GET", "/", at="127.0.0.1", headers={"Host": f"caucus.example:{server.port}"})[0], 200)
        server.process.send_signal(signal.SIGTERM)
        self.assertIn("others on the network can reach this page", server.process.communicate()[1])

    def test_headers_of_the_page(self):
        server = self.serve()
        answer = server.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()).decode()
        head, page = answer.split("\r\n\r\n", 1)
        policy = next(line for line in head.splitlines() if line.lower().startswith("content-security-policy"))
        for part in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "trusted-types 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn(server.token, answer)
        for line in ("X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store"):
            self.assertIn(line, head)
        self.assertIn("<title>caucus</title>", page)

    def test_no_path_leads_out(self):
        server = self.serve()
        token = f"Host: 127.0.0.1:{server.port}\r\nX-Caucus-Token: {server.token}\r\nConnection: close\r\n\r\n"
        for path in ("/../../etc/passwd", "/api/../../etc/passwd", "/api/jobs/../project", "/api/jobs/%2e%2e/model", "/api/uploads/..%2f..%2fetc/reading", "//etc/passwd",
                     "/api/jobs/./log", "/api//project", "/api/project/", "/etc/passwd", "/api/jobs/\\..\\x/log", "/api/jobs/a%00b/log", "http://evil.example/api/project", "*", "/api/jobs/JOB/log"):
            answer = server.raw(f"GET {path} HTTP/1.1\r\n{token}".encode())
            self.assertIn(answer.split()[1], (b"404", b"400"), (path, answer[:200]))
            self.assertNotIn(b"root:", answer)
        before = sorted(os.listdir(self.room.name))
        for name in ("../../evil.soi", "/etc/passwd", "..", ".", "", " ", "-rf", ".bashrc", "a/b\\c.soi", "x\0y", "job.json", "upload.json", "model.json", "report.html", "\n", "ü" * 200, "$(id).soi",
                     "'; rm -rf .soi"):
            status, answer = server.ask("POST", "/api/uploads?name=" + "".join(f"%{b:02x}" for b in name.encode()), TOWN)
            if name == "":
                self.assertEqual(status, 400)
                continue
            self.assertEqual(status, 200, (name, answer))
            self.assertRegex(answer["file"], r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")
            self.assertTrue((self.folder / "uploads" / answer["id"] / answer["file"]).is_file())
            self.assertEqual(answer["name"], name)
        self.assertEqual(sorted(os.listdir(self.room.name)), before)
        self.assertEqual(sorted(os.listdir(self.folder)), [".caucus-serve", "jobs", "uploads"])

    def test_requests_name_no_flags_and_no_files(self):
        server = self.serve()
        town = server.upload("town.soi", TOWN)
        bad = [{"family": "--help"}, {"family": 3}, {"command": "regress"}, {"command": ["fit"]}, {"groups": "../x"}, {"groups": "--json"}, {"groups": {"a": 1}},
               {"options": {"init-file": "/etc/passwd"}}, {"options": {"out": "/tmp/x"}}, {"options": {"method": "../../x"}}, {"options": {"tolerance": "1 --out=/tmp/x"}}, {"options": [1]},
               {"family": "dpm", "options": {"checkpoint": "/tmp/x"}}, {"reading": {"out": "/tmp/x"}}, {"reading": {"json": "1"}}, {"reading": 3}, {"reading": {"drop": "a\nb"}},
               {"reading": {"drop": ["a"] * 2000}}, {"seed": "1"}, {"seed": -1}, {"time_limit": []}]
        for request in bad:
            status, answer = server.ask("POST", "/api/jobs", {"upload": town["id"], **request})
            self.assertEqual(status, 400, (request, answer))
        for body in (b"{", b"[]", b"3", b"\xff\xfe", b'{"upload":"../../x"}', b'{"upload":{}}', b"[" * 100000):
            self.assertIn(server.ask("POST", "/api/jobs", body)[0], (400, 404), body[:20])
        self.assertEqual(server.ask("POST", "/api/jobs", b"x" * 2000000)[0], 413)
        # A value that looks like a flag is a value.
        status, answer = server.ask("POST", f"/api/uploads/{town['id']}/reading", {"reading": {"exclude": ["--json", "-h"]}})
        self.assertEqual(status, 200)
        self.assertEqual(answer["info"]["num_items"], 8)
        self.assertIn("--exclude=--json --exclude=-h", answer["command"])
        self.assertEqual(server.ask("GET", "/api/project")[1]["jobs"], [])

    def test_ten_gigabytes(self):
        server = self.serve("--max-upload", "1")
        head = f"POST /api/uploads?name=big HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Caucus-Token: {server.token}\r\n"
        before = time.time()
        answer = server.raw(f"{head}Content-Length: {10 << 30}\r\n\r\n".encode() + b"1: 1,2\n" * 1000)
        self.assertIn(b" 413 ", answer)
        self.assertLess(time.time() - before, 20)
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        answer = server.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + 40 * chunk + b"0\r\n\r\n")
        self.assertIn(b" 413 ", answer)
        answer = server.raw(f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode())
        self.assertIn(answer.split()[1], (b"400",))
        self.assertIn(b" 431 ", server.raw(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n"))
        self.assertIn(b" 400 ", server.raw(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"))
        # One that breaks off leaves nothing.
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(f"{head}Content-Length: 100000\r\n\r\nabc".encode())
            time.sleep(0.3)
        time.sleep(0.5)
        self.assertEqual(os.listdir(self.folder / "uploads"), [])
        self.assertEqual(server.ask("GET", "/api/project")[0], 200)

    def test_slow_clients_and_a_thousand_connections(self):
        if not allow_descriptors(4096):
            self.skipTest("too few descriptors for a thousand connections")
        server = self.serve("--connections", "100")
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        # One that holds the token and sends its file letter by letter, and one that listens and never reads.
        slow = socket.create_connection(("127.0.0.1", server.port))
        slow.sendall(f"POST /api/uploads?name=slow HTTP/1.1\r\n{host}X-Caucus-Token: {server.token}\r\nContent-Length: 1000\r\n\r\nabc".encode())
        deaf = socket.create_connection(("127.0.0.1", server.port))
        deaf.sendall(f"GET /api/events HTTP/1.1\r\n{host}X-Caucus-Token: {server.token}\r\n\r\n".encode())
        time.sleep(0.3)
        crowd = []
        for number in range(1000):
            link = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            link.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
            crowd.append(link)
        before = time.time()
        self.assertEqual(server.ask("GET", "/api/project")[0], 200)
        self.assertEqual(server.upload("town.soi", TOWN)["size"], len(TOWN))
        self.assertLess(time.time() - before, 10)
        self.assertLess(server.descriptors(), 150)
        # Those who hold the token were not turned out.
        slow.sendall(b"x" * 997)
        self.assertIn(b" 200 ", slow.recv(65536))
        # Who sends no whole request is closed on in the end.
        crowd[-1].settimeout(60)
        self.assertEqual(crowd[-1].recv(10), b"")
        for link in [*crowd, slow, deaf]:
            link.close()

    def test_memory_of_the_server(self):
        server = self.serve()
        before = server.memory()
        big = server.upload("big.soi", TOWN + b"1: 1,2,3,4,5,6,7,8\n" * 5_500_000)
        self.assertGreater(big["size"], 100_000_000)
        grown = server.memory() - before
        self.assertLess(grown, 10_000_000)
        # Reading it is another process's: the server holds none of it.
        status, answer = server.ask("POST", f"/api/uploads/{big['id']}/reading", {})
        self.assertEqual((status, answer["info"]["num_rankings"]), (200, 5_500_000 + 2400))
        grown = max(grown, server.memory() - before)
        self.assertLess(grown, 10_000_000)
        print(f"an upload of {big['size'] / 1e6:.0f} MB: the server grows by {grown / 1e6:.1f} MB")

    def test_memory_of_a_fit(self):
        server = self.serve("--memory", "60")
        names = "".join(f"# ALTERNATIVE NAME {i}: item {i}\n" for i in range(1, 3001))
        # 3000 ballots of 3000 items, no two alike: more than the fit may take.
        data = f"# NUMBER ALTERNATIVES: 3000\n{names}".encode() + b"".join(b"1: " + ",".join(map(str, [*range(1 + i, 3001), *range(1, 1 + i)])).encode() + b"\n" for i in range(3000))
        job = server.job(server.upload("wide.soi", data), groups=2)
        ended = server.wait(job, "failed", "done", seconds=300)
        self.assertEqual(ended["state"], "failed", ended)
        self.assertIn("memory", ended["message"])
        self.assertEqual(server.ask("GET", "/api/project")[0], 200)

    def test_fits_queue_cancel_and_keep_what_they_have(self):
        server = self.serve()
        town = server.upload("town.soi", TOWN)
        first, second = server.job(town, **LONG), server.job(town, groups=2)
        running = server.wait(first, "running")
        self.assertEqual(server.ask("GET", f"/api/jobs/{second}")[1]["state"], "queued")
        end = time.time() + 60
        while not running.get("progress"):
            self.assertLess(time.time(), end, "no progress was told")
            time.sleep(0.1)
            running = server.ask("GET", f"/api/jobs/{first}")[1]
        self.assertGreater(running["progress"]["step"], 0)
        self.assertEqual(server.ask("DELETE", f"/api/jobs/{first}")[0], 409)
        self.assertEqual(server.ask("POST", f"/api/jobs/{first}/cancel")[0], 200)
        cancelled = server.wait(first, "cancelled")
        self.assertTrue(cancelled["model"], cancelled)
        self.assertEqual(server.wait(second, "done")["result"]["groups"], 2)
        third, fourth = server.job(town, **LONG), server.job(town, groups=2)
        server.wait(third, "running")
        server.ask("POST", f"/api/jobs/{fourth}/cancel")
        self.assertEqual(server.ask("GET", f"/api/jobs/{fourth}")[1]["state"], "cancelled")
        server.ask("POST", f"/api/jobs/{third}/cancel")
        server.wait(third, "cancelled")
        # The command shown is the one that ran, and works as it stands.
        words = server.ask("GET", f"/api/jobs/{second}")[1]["command"]
        self.assertEqual(words, "caucus fit town.soi --family pl -k 2 --out model.json")

    def test_killed_and_started_again(self):
        server = self.serve()
        town = server.upload("town.soi", TOWN)
        done, job = server.job(town, groups=1), server.job(town, **LONG)
        server.wait(done, "done")
        server.wait(job, "running")
        other = subprocess.run([SERVE, str(self.folder), "--port", "0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(other.returncode, 74)
        self.assertIn("another caucus serve", other.stderr)
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        server.end(signal.SIGKILL)
        end = time.time() + 60
        while any(os.path.exists(f"/proc/{child}") for child in children):
            self.assertLess(time.time(), end, "the fit outlived its server")
            time.sleep(0.1)
        again = self.serve()
        self.assertNotEqual(again.token, server.token)
        self.assertEqual(again.ask("GET", f"/api/jobs/{job}")[1]["state"], "interrupted")
        self.assertEqual(again.ask("GET", f"/api/jobs/{done}")[1]["state"], "done")
        self.assertEqual(again.ask("POST", f"/api/jobs/{done}/resume")[0], 409)
        status, renewed = again.ask("POST", f"/api/jobs/{job}/again")
        self.assertEqual(status, 200)
        again.wait(renewed["id"], "running")
        self.assertEqual(json.loads((self.folder / "jobs" / done / "model.json").read_text())["family"], "pl")

    def test_a_fit_goes_on_from_its_checkpoint(self):
        """Server and fit die at once, as when the machine goes down; what comes of the rest is what an uninterrupted run gives."""
        request = {"family": "dpm", "options": {"sweeps": "600", "burnin": "100", "checkpoint-every": "0"}, "seed": 5}
        server = self.serve()
        town = server.upload("town.soi", TOWN[:2500].rsplit(b"\n", 1)[0] + b"\n")
        whole = server.job(town, **request)
        first = server.wait(whole, "done")
        self.assertFalse((self.folder / "jobs" / whole / "checkpoint").exists())
        self.assertNotIn("--checkpoint=", first["command"])
        job = server.job(town, **request)
        checkpoint = self.folder / "jobs" / job / "checkpoint"
        end = time.time() + 60
        while not checkpoint.exists():
            self.assertLess(time.time(), end, "no checkpoint was written")
            time.sleep(0.01)
        server.process.send_signal(signal.SIGSTOP)
        child = int(pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()[0])
        os.kill(child, signal.SIGKILL)
        server.end(signal.SIGKILL)
        again = self.serve()
        cut = again.ask("GET", f"/api/jobs/{job}")[1]
        self.assertEqual((cut["state"], cut["resumable"], cut["model"]), ("interrupted", True, False))
        self.assertEqual(again.ask("POST", f"/api/jobs/{job}/resume")[0], 200)
        again.wait(job, "done")
        models = [json.loads((self.folder / "jobs" / one / "model.json").read_text()) for one in (whole, job)]
        self.assertEqual(models[0]["components"], models[1]["components"])
        self.assertEqual(models[0]["fit"]["loglik"], models[1]["fit"]["loglik"])
        self.assertEqual(again.ask("POST", f"/api/jobs/{job}/resume")[0], 409)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
