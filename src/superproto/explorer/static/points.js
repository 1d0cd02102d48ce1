// Drawing of points: WebGL2, or a 2-D canvas where there is none.

const VERTEX = `#version 300 es
in vec2 place; in vec4 color; in float size;
uniform vec2 center; uniform vec2 scale; uniform float pixel;
out vec4 ink;
void main() { gl_Position = vec4((place - center) * scale, 0, 1); gl_PointSize = size * pixel; ink = color; }`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 ink; out vec4 found;
void main() { float far = length(gl_PointCoord - .5); if (far > .5) discard; found = vec4(ink.rgb * ink.a, ink.a); }`;

export function painter(canvas, places) {
  return webgl(canvas, places) || flat(canvas.getContext("2d"), canvas, places);
}

function webgl(canvas, places) {
  const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const buffer = (name, width, type, normalized) => {
    const store = gl.createBuffer();
    const where = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, store);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, width, type, normalized, 0, 0);
    return (data) => { gl.bindBuffer(gl.ARRAY_BUFFER, store); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW); };
  };
  buffer("place", 2, gl.FLOAT, false)(places);
  const colors = buffer("color", 4, gl.UNSIGNED_BYTE, true);
  const sizes = buffer("size", 1, gl.FLOAT, false);
  const uniform = (name) => gl.getUniformLocation(program, name);
  const [center, scale, pixel] = [uniform("center"), uniform("scale"), uniform("pixel")];
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return {
    kind: "webgl2",
    color(rgba, size) { colors(rgba); sizes(size); },
    draw(see) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(center, see.x, see.y);
      gl.uniform2f(scale, see.sx, see.sy);
      gl.uniform1f(pixel, see.ratio);
      gl.drawArrays(gl.POINTS, 0, places.length / 2);
    },
  };
}

function flat(context, canvas, places) {
  let rgba = new Uint8Array();
  let size = new Float32Array();
  return {
    kind: "2d",
    color(colors, sizes) { rgba = colors; size = sizes; },
    draw(see) {
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < places.length / 2; i++) {
        const x = (((places[2 * i] - see.x) * see.sx + 1) / 2) * canvas.width;
        const y = ((1 - (places[2 * i + 1] - see.y) * see.sy) / 2) * canvas.height;
        const half = (size[i] * see.ratio) / 2;
        context.fillStyle = `rgba(${rgba[4 * i]},${rgba[4 * i + 1]},${rgba[4 * i + 2]},${rgba[4 * i + 3] / 255})`;
        context.fillRect(x - half, y - half, 2 * half, 2 * half);
      }
    },
  };
}
