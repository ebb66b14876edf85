"""A server to test: starts caucus-serve in a folder and speaks HTTP to it, by hand where that matters."""
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time
import urllib.parse


class Server:
    def __init__(self, program, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen([program, str(folder), "--port", "0", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"Open http://(\S+):(\d+)/#([a-z0-9]{32})$", line.strip())
        if not found:
            raise RuntimeError(f"no address: {line}{self.process.stderr.read()}")
        self.address, self.port, self.token = found[1].strip("[]"), int(found[2]), found[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, method, path, body=None, headers=None, token=True, at=None):
        """Status and body, as JSON where it is."""
        head = {"X-Caucus-Token": self.token} if token is True else {"X-Caucus-Token": token} if token else {}
        connection = http.client.HTTPConnection(at or self.address, self.port, timeout=60)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {**head, **(headers or {})})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text

    def upload(self, name, data):
        status, answer = self.ask("POST", "/api/uploads?name=" + urllib.parse.quote(name, safe=""), data)
        assert status == 200, (status, answer)
        return answer

    def raw(self, data, wait=30):
        """What comes back to these bytes until the server closes."""
        with socket.create_connection((self.address, self.port), timeout=wait) as link:
            link.sendall(data)
            answer = b""
            while piece := link.recv(65536):
                answer += piece
            return answer

    def job(self, upload, **request):
        status, answer = self.ask("POST", "/api/jobs", {"upload": upload["id"], **request})
        assert status == 200, (status, answer)
        return answer["id"]

    def wait(self, job, *states, seconds=120):
        end = time.time() + seconds
        while True:
            _, answer = self.ask("GET", f"/api/jobs/{job}")
            if answer["state"] in states:
                return answer
            assert time.time() < end, f"still {answer['state']} after {seconds} s, expected {states}: {answer}"
            time.sleep(0.1)

    def memory(self):
        """Resident bytes."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", text)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def allow_descriptors(number):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < number:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    return True
