CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO project VALUES ('4a476e9298cabe1c7661d68669f328c2897e2967', '/home/you/project', 'git', NULL, NULL, NULL, NULL, 1794792397861, 1794792440487, NULL, '[]', NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO session VALUES ('ses_e1e095eeaffexrbSDUwzjyv4iT', '4a476e9298cabe1c7661d68669f328c2897e2967', NULL, NULL, 'eager-panda', '/home/you/project', '', 'A title', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 77, 49, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"stub-1","providerID":"stub","variant":"default"}', 1794792399126, 1794792452458, NULL, NULL);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO message VALUES ('msg_1e1f6a1af001SNUIT8Xp9g4OhH', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792399279, 1794792400946, '{"role":"user","time":{"created":1794792399279},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f6a6f5001E96bJjLtoMy7i3', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792400629, 1794792403105, '{"parentID":"msg_1e1f6a1af001SNUIT8Xp9g4OhH","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792400629,"completed":1794792403102},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1e1f6bc2b001haOPfq7fJ9ynyi', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792406059, 1794792407443, '{"role":"user","time":{"created":1794792406059},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f6c0d4001r1oyb7JzlVKK94', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792407252, 1794792409245, '{"parentID":"msg_1e1f6bc2b001haOPfq7fJ9ynyi","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792407252,"completed":1794792409243},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1e1f6d8cb001ceO5fAzTfAWDnq', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792413387, 1794792417321, '{"role":"user","time":{"created":1794792413387},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f6df530017qWB3L1NAnPnQe', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792415059, 1794792416966, '{"parentID":"msg_1e1f6d8cb001ceO5fAzTfAWDnq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792415059,"completed":1794792416964},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1e1f6e6cc001dlO3XYejbxjPhL', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792416972, 1794792417520, '{"parentID":"msg_1e1f6d8cb001ceO5fAzTfAWDnq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792416972,"completed":1794792417519},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1e1f6f6ee001N7pjlJzE6hTUKk', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792421102, 1794792423710, '{"role":"user","time":{"created":1794792421102},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f70051001v3UZCYHpK9oazX', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792423505, 1794792425917, '{"parentID":"msg_1e1f6f6ee001N7pjlJzE6hTUKk","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792423505,"completed":1794792425915},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1e1f71aff001hz0uk63iAx096H', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792430335, 1794792432540, '{"role":"user","time":{"created":1794792430335},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f722ed001Ze3LM7zE7bsRUm', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792432365, 1794792434725, '{"parentID":"msg_1e1f71aff001hz0uk63iAx096H","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792432365,"completed":1794792434722},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1e1f74ff2001VcSlJIDuH7ZYly', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792443890, 1794792446923, '{"role":"user","time":{"created":1794792443890},"agent":"build","model":{"providerID":"stub","modelID":"stub-1"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1e1f75aeb0014GjXTD4PCNByhG', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792446699, 1794792452324, '{"parentID":"msg_1e1f74ff2001VcSlJIDuH7ZYly","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/you/project","root":"/home/you/project"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"stub-1","providerID":"stub","time":{"created":1794792446699,"completed":1794792452318},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO part VALUES ('prt_1e1f6a1c4001myjArVS0RKm7jm', 'msg_1e1f6a1af001SNUIT8Xp9g4OhH', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792400585, 1794792400589, '{"type":"text","text":"How do we make the parser faster?"}');
INSERT INTO part VALUES ('prt_1e1f6afbd001L1jmBG0HJq5BK9', 'msg_1e1f6a6f5001E96bJjLtoMy7i3', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792402878, 1794792402880, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f6afc2001YXFg6Z6QyWgsIh', 'msg_1e1f6a6f5001E96bJjLtoMy7i3', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792402882, 1794792402893, '{"type":"text","text":"Measure first: where does the time go?","time":{"start":1794792402882,"end":1794792402891}}');
INSERT INTO part VALUES ('prt_1e1f6b005001A5G4Pao3whc8hJ', 'msg_1e1f6a6f5001E96bJjLtoMy7i3', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792402949, 1794792402952, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f6bc2e001pv1hS3bKenw6Ib', 'msg_1e1f6bc2b001haOPfq7fJ9ynyi', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792407221, 1794792407224, '{"type":"text","text":"Use \"quotes\", a back\\slash and `ticks` in the answer."}');
INSERT INTO part VALUES ('prt_1e1f6c7b8001jirx1XOu8Ss3X3', 'msg_1e1f6c0d4001r1oyb7JzlVKK94', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792409017, 1794792409023, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f6c7c2001lKq10C3nCWo9u6', 'msg_1e1f6c0d4001r1oyb7JzlVKK94', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792409026, 1794792409057, '{"type":"text","text":"A \"quote\", a \\ and `ticks`.","time":{"start":1794792409026,"end":1794792409050}}');
INSERT INTO part VALUES ('prt_1e1f6c849001jNUR1pWMeRN7WR', 'msg_1e1f6c0d4001r1oyb7JzlVKK94', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792409161, 1794792409163, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f6d8e1001dwPP917u0crvnH', 'msg_1e1f6d8cb001ceO5fAzTfAWDnq', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792415003, 1794792415007, '{"type":"text","text":"What do my notes say?"}');
INSERT INTO part VALUES ('prt_1e1f6e5ad001RU3TsJ082baq6S', 'msg_1e1f6df530017qWB3L1NAnPnQe', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792416685, 1794792416693, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f6e5b9001nbXXwc78kdBFpU', 'msg_1e1f6df530017qWB3L1NAnPnQe', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792416697, 1794792416801, '{"type":"tool","tool":"read","callID":"call_b350ef18063441a79e52ddc8","state":{"status":"completed","input":{"filePath":"/home/you/project/notes.txt"},"output":"<path>/home/you/project/notes.txt</path>\n<type>file</type>\n<content>\n1: The parser is slow.\n2: The cache is never emptied.\n\n(End of file - total 2 lines)\n</content>","metadata":{"preview":"The parser is slow.\nThe cache is never emptied.","truncated":false,"loaded":[],"display":{"type":"file","path":"/home/you/project/notes.txt","text":"The parser is slow.\nThe cache is never emptied.","lineStart":1,"lineEnd":2,"totalLines":2,"truncated":false}},"title":"notes.txt","time":{"start":1794792416741,"end":1794792416798}}}');
INSERT INTO part VALUES ('prt_1e1f6e676001GALhx2mDGGqMLF', 'msg_1e1f6df530017qWB3L1NAnPnQe', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792416887, 1794792416889, '{"reason":"tool-calls","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f6e7fb001222hkDUU1Eu1PJ', 'msg_1e1f6e6cc001dlO3XYejbxjPhL', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792417276, 1794792417277, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f6e804001FlSJvx0Oy5mujj', 'msg_1e1f6e6cc001dlO3XYejbxjPhL', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792417285, 1794792417308, '{"type":"text","text":"They say:\n\n1. The parser is slow.\n2. The cache is full.","time":{"start":1794792417284,"end":1794792417302}}');
INSERT INTO part VALUES ('prt_1e1f6e87d001xW5T0UOPypH27w', 'msg_1e1f6e6cc001dlO3XYejbxjPhL', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792417405, 1794792417407, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f6f6f3001B3OVYY9okB5Nxu', 'msg_1e1f6f6ee001N7pjlJzE6hTUKk', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792423460, 1794792423465, '{"type":"text","text":"Et en français ? 日本語でも 🎉"}');
INSERT INTO part VALUES ('prt_1e1f708c9001HcyD2y555LZHcT', 'msg_1e1f70051001v3UZCYHpK9oazX', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792425674, 1794792425676, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f708ce001kbiLuLtkM5vwJv', 'msg_1e1f70051001v3UZCYHpK9oazX', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792425678, 1794792425690, '{"type":"text","text":"Le cache est plein. キャッシュが一杯です。🎉","time":{"start":1794792425678,"end":1794792425688}}');
INSERT INTO part VALUES ('prt_1e1f70951001c3dtbL15F9wgnR', 'msg_1e1f70051001v3UZCYHpK9oazX', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792425810, 1794792425812, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f71b04001aVh4xVnXRo4dFh', 'msg_1e1f71aff001hz0uk63iAx096H', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792432325, 1794792432328, '{"type":"text","text":"Two\nlines, and a list:\n- one\n- two"}');
INSERT INTO part VALUES ('prt_1e1f72a61001dgAEYTwQT6Lp4c', 'msg_1e1f722ed001Ze3LM7zE7bsRUm', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792434273, 1794792434280, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f72a6b001237n9iCBeEDEXE', 'msg_1e1f722ed001Ze3LM7zE7bsRUm', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792434287, 1794792434309, '{"type":"text","text":"```python\nprint(''two\\nlines'')\n```","time":{"start":1794792434283,"end":1794792434303}}');
INSERT INTO part VALUES ('prt_1e1f72b63001iXZ072WYFH4fh0', 'msg_1e1f722ed001Ze3LM7zE7bsRUm', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792434532, 1794792434535, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1e1f74ff6001BZ3JKcBKKlKB3S', 'msg_1e1f74ff2001VcSlJIDuH7ZYly', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792446645, 1794792446651, '{"type":"text","text":"Let''s decide: empty the cache hourly."}');
INSERT INTO part VALUES ('prt_1e1f76e710015cLGJWzK4WYVOf', 'msg_1e1f75aeb0014GjXTD4PCNByhG', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792451697, 1794792451710, '{"snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-start"}');
INSERT INTO part VALUES ('prt_1e1f76e91001T6Yo5Ux7BmHeBt', 'msg_1e1f75aeb0014GjXTD4PCNByhG', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792451729, 1794792451803, '{"type":"text","text":"Decided: the cache is emptied every hour.","time":{"start":1794792451729,"end":1794792451786}}');
INSERT INTO part VALUES ('prt_1e1f76f77001sGNBpuaOdE11lQ', 'msg_1e1f75aeb0014GjXTD4PCNByhG', 'ses_e1e095eeaffexrbSDUwzjyv4iT', 1794792451960, 1794792451967, '{"reason":"stop","snapshot":"4e99b6a611df72d5788d1b9c957b82165d7f53de","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
